"""Search for texts of a window that are cut off."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QLabel, QWidget

_MNEMONIC = Qt.TextFlag.TextShowMnemonic


def clipped(window: QWidget) -> list[str]:
    """Return the texts that are cut off or lie outside the window."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)  # otherwise parts are still at their old places
    found: list[str] = []
    for part in window.findChildren(QWidget):
        if isinstance(part, QLabel | QAbstractButton) and part.isVisible() and part.text() and _cut(part, window):
            found.append(f"{part.text()!r} {part.geometry()}")
    return found


def _area(part: QWidget | None) -> QAbstractScrollArea | None:
    """Return the scroll area that can bring the widget into view."""
    return part if part is None or isinstance(part, QAbstractScrollArea) else _area(part.parentWidget())


def _out_of_reach(part: QWidget, area: QAbstractScrollArea) -> bool:
    """Return whether the widget lies left or right of the visible part of an area that does not scroll sideways."""
    left = part.mapTo(area, QPoint(0, 0)).x()
    sideways = area.horizontalScrollBarPolicy() != Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    return part is not area and not sideways and not 0 <= left <= left + part.width() <= area.width()


def _inside(part: QWidget, window: QWidget) -> bool:
    place = QRect(part.mapTo(window, QPoint(0, 0)), part.size())
    return window.rect().contains(place) and part.visibleRegion().boundingRect().contains(part.rect())


def _cut(part: QLabel | QAbstractButton, window: QWidget) -> bool:
    area = _area(part)
    if _out_of_reach(part, area) if area else not _inside(part, window):
        return True
    if isinstance(part, QLabel) and part.wordWrap():
        return part.heightForWidth(part.width()) > part.height()
    needed = part.minimumSizeHint() if isinstance(part, QLabel) else part.fontMetrics().size(_MNEMONIC, part.text())
    return needed.width() > part.width() or needed.height() > part.height()
