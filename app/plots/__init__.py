"""Plots of the training: their specifications, drawing, and texts."""
