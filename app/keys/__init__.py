"""Commands, key bindings, actions, focus."""
