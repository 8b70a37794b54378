"""The engine without a window: commands, lockstep run, benchmark."""
