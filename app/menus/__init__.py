"""Menus, the dialogs they open, and handlers of commands."""
