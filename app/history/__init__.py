"""The list of answers and one answer close up."""
