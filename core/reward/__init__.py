"""The reward ensemble and its training on preferences (paper 2.2.3)."""
