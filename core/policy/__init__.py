"""Policy optimisers."""
