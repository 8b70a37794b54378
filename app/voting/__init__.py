"""The votes of a room, as the window shows them."""
