"""Widgets of the start window: task cards, saved sessions and the form for a new session."""
