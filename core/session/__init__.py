"""One training run as a folder: config, checkpoints, policy snapshots, metrics, log, export, and the routing of events.

Light enough for the window's process. Imports only tasks, preferences, voting, system, io and the modules in core/ itself.
"""
