"""What of a window can't be read because it has too little room."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget


def clipped(window: QWidget) -> list[str]:
    """Texts that are cut off, or stand outside the window."""
    found: list[str] = []
    for part in window.findChildren(QWidget):
        if isinstance(part, QLabel | QAbstractButton) and part.isVisible() and part.text() and _cut(part, window):
            found.append(f"{part.text()!r} {part.geometry()}")
    return found


def _cut(part: QLabel | QAbstractButton, window: QWidget) -> bool:
    place = QRect(part.mapTo(window, QPoint(0, 0)), part.size())
    if not window.rect().contains(place) or not part.visibleRegion().boundingRect().contains(part.rect()):
        return True
    if isinstance(part, QLabel) and part.wordWrap():
        return part.heightForWidth(part.width()) > part.height()
    wanted = part.minimumSizeHint() if isinstance(part, QLabel) else part.sizeHint()
    return wanted.width() > part.width() or wanted.height() > part.height()
