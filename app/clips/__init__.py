"""Widgets that play frames: one clip, a pair of clips."""
