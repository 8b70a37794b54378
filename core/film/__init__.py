"""Films of a session: how its policy learned, before and after, and for a talk; the jobs, and the pictures they draw."""
