"""Widgets that play frames: one clip, a pair of clips, the screen of a game."""
