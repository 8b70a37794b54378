"""Policy optimizers."""
