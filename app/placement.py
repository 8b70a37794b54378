"""Where the window was and how it was divided, kept between runs."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QMainWindow

from app import settings

_GEOMETRY, _STATE = "window/geometry", "window/state"
_LAYOUT = 1
"""Of toolbar and docks: to be raised when they change so much that an older division fits no more."""
_WANTED = QSize(1480, 920)


def restore_place(window: QMainWindow) -> None:
    """As it was; the first time as large as is comfortable, and never larger than the screen."""
    window.resize(_WANTED.boundedTo(window.screen().availableSize()))
    if geometry := settings.blob(_GEOMETRY):
        window.restoreGeometry(geometry)
    if state := settings.blob(_STATE):
        window.restoreState(state, _LAYOUT)


def keep_place(window: QMainWindow) -> None:
    settings.keep(_GEOMETRY, window.saveGeometry())
    settings.keep(_STATE, window.saveState(_LAYOUT))
