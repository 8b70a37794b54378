"""QThreads: child jobs, answers, checkpoints, files."""
