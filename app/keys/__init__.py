"""Commands, the keys that trigger them, their QActions, and keyboard focus."""
