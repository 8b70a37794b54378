"""Texts of a window that can't be read because they have too little room."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QLabel, QWidget

_MNEMONIC = Qt.TextFlag.TextShowMnemonic


def clipped(window: QWidget) -> list[str]:
    """Texts that are cut off, or stand outside the window."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)  # else parts are still at their old places
    found: list[str] = []
    for part in window.findChildren(QWidget):
        if isinstance(part, QLabel | QAbstractButton) and part.isVisible() and part.text() and _cut(part, window):
            found.append(f"{part.text()!r} {part.geometry()}")
    return found


def _scrolls(part: QWidget | None) -> bool:
    """True if it can be brought into view."""
    return part is not None and (isinstance(part, QAbstractScrollArea) or _scrolls(part.parentWidget()))


def _inside(part: QWidget, window: QWidget) -> bool:
    place = QRect(part.mapTo(window, QPoint(0, 0)), part.size())
    return window.rect().contains(place) and part.visibleRegion().boundingRect().contains(part.rect())


def _cut(part: QLabel | QAbstractButton, window: QWidget) -> bool:
    if not _scrolls(part) and not _inside(part, window):
        return True
    if isinstance(part, QLabel) and part.wordWrap():
        return part.heightForWidth(part.width()) > part.height()
    needed = part.minimumSizeHint() if isinstance(part, QLabel) else part.fontMetrics().size(_MNEMONIC, part.text())
    return needed.width() > part.width() or needed.height() > part.height()
