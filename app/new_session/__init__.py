"""The form for a new session and its fields: every setting of the config, a folder, and a session to begin with."""
