"""Operating system: child processes, shared memory, signals, memory and disk checks."""
