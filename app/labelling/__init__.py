"""State of labelling, no widgets."""
