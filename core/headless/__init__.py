"""Running without a window: commands, lockstep run, benchmark."""
