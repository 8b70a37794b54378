"""Widgets that play pictures."""
