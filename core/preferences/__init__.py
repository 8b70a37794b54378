"""Which pairs to ask, who answers, where answers are kept, and how they are reviewed."""
