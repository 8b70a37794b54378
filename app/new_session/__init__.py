"""The form for a new session, with its fields: every setting of the config, a folder, and what to begin with."""
