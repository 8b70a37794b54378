"""Catalogue, session list, new-session form."""
