"""Networks and what runs them: stacked MLP and CNN, optimizer state, threads, device."""
