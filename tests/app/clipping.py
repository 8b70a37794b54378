"""What of a window can't be read because it has too little room."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractButton, QLabel, QScrollArea, QWidget


def clipped(window: QWidget) -> list[str]:
    """Texts that are cut off, or stand outside the window."""
    found: list[str] = []
    for part in window.findChildren(QWidget):
        if isinstance(part, QLabel | QAbstractButton) and part.isVisible() and part.text() and _cut(part, window):
            found.append(f"{part.text()!r} {part.geometry()}")
    return found


def _scrolled(part: QWidget, window: QWidget) -> QScrollArea | None:
    """The column that it is in, where what is out of sight can be scrolled to."""
    above = part.parentWidget()
    while above is not None and above is not window:
        if isinstance(above, QScrollArea):
            return above
        above = above.parentWidget()
    return None


def _cut(part: QLabel | QAbstractButton, window: QWidget) -> bool:
    column = _scrolled(part, window)
    frame = column.widget() if column else window
    place = QRect(part.mapTo(frame, QPoint(0, 0)), part.size())
    if not frame.rect().contains(place) or column and frame.width() > column.viewport().width():
        return True
    if not column and not part.visibleRegion().boundingRect().contains(part.rect()):
        return True
    if isinstance(part, QLabel) and part.wordWrap():
        return part.heightForWidth(part.width()) > part.height()
    wanted = part.minimumSizeHint() if isinstance(part, QLabel) else part.sizeHint()
    return wanted.width() > part.width() or wanted.height() > part.height()
