"""Fitting a reward to preferences (paper 2.2.3)."""
