"""Acting: collecting batches, cutting segments, episodes, exploration."""
