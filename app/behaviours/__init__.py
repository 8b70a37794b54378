"""The person's own behaviours: their files, and the page for creating and editing them."""
