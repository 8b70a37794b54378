"""Theme, palette, icons, labels, small shared widgets."""
