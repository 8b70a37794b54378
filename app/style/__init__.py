"""Theme, palette, icons, labels and small shared widgets."""
