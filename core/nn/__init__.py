"""Networks and what they share: stacked MLP and CNN, their state as arrays, threads, device."""
