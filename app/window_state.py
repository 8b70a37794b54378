"""Where the window was and how it was divided, kept between runs."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QMainWindow

from app import settings

_LAYOUT = 1
"""Of toolbar and docks: to be raised when they change so much that an older division fits no more."""
_WANTED = QSize(1480, 920)


def restore(window: QMainWindow, name: str = "window", wanted: QSize = _WANTED) -> None:
    """As it was; the first time as large as is comfortable, and never larger than the screen.

    name: of the window in the settings
    """
    window.resize(wanted.boundedTo(window.screen().availableSize()))
    if geometry := settings.blob(f"{name}/geometry"):
        window.restoreGeometry(geometry)
    if state := settings.blob(f"{name}/state"):
        window.restoreState(state, _LAYOUT)


def save(window: QMainWindow, name: str = "window") -> None:
    settings.keep(f"{name}/geometry", window.saveGeometry())
    settings.keep(f"{name}/state", window.saveState(_LAYOUT))
