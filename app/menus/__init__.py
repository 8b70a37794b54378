"""Menus and the handlers behind commands."""
