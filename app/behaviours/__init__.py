"""Behaviours of the person's own: their files, and the page on which they are made."""
