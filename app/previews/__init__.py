"""Moving pictures of tasks and robots: rendered by a child process, kept on disk, and shown on cards."""
