"""Size and layout of windows, kept between runs."""

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QMainWindow, QWidget

from app import settings

_LAYOUT = 1
"""Version of toolbars and docks; raise it when saved layouts no longer fit."""
_DEFAULT_SIZE = QSize(1480, 920)
_FRAME = QSize(16, 48)
"""Room for the frame and the title bar, whose sizes are unknown before a window is shown."""


def fitting(window: QWidget, size: QSize) -> QSize:
    """Return this size, limited to the available size of the window's screen."""
    return size.boundedTo(window.screen().availableGeometry().size() - _FRAME)


def restore(window: QMainWindow, name: str = "window", size: QSize = _DEFAULT_SIZE) -> None:
    """Restore a window. The first time, centre it on the screen with this size, limited to the available one.

    name: of the window in the settings
    """
    available, size = window.screen().availableGeometry(), fitting(window, size)
    corner = QRect(QPoint(), size + _FRAME)
    corner.moveCenter(available.center())
    window.resize(size)
    window.move(corner.topLeft())
    if geometry := settings.blob(f"{name}/geometry"):
        window.restoreGeometry(geometry)
    if state := settings.blob(f"{name}/state"):
        window.restoreState(state, _LAYOUT)


def save(window: QMainWindow, name: str = "window") -> None:
    settings.keep(f"{name}/geometry", window.saveGeometry())
    settings.keep(f"{name}/state", window.saveState(_LAYOUT))
