"""One training run as a folder: config, routing of events, checkpoints, snapshots, export."""
