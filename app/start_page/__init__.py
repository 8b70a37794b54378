"""Widgets of the start window: task cards, and the list of saved sessions."""
