"""Films of a session (how its policy learned, before and after, for a talk): the jobs, and the pictures they draw."""
