"""The policy acting: now, earlier, as a film."""
