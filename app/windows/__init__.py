"""The windows: start, main, demo mode, answer history and playing a game; and the widgets only they use."""
