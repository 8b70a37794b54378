"""Networks and their shared parts: stacked MLP and CNN, state as arrays, threads, device."""
