"""Icons in the colour of the text, whatever the scheme."""

from __future__ import annotations

from PySide6.QtGui import QAction, QColor, QIcon, QPainter
from PySide6.QtWidgets import QWidget

from app.style import assets, theme

_SIZES = (18, 36, 54)
"""For screens with a scale of 1, 2 and 3."""
_NAME = "icon_name"


def give(action: QAction, name: str) -> None:
    """The icon resources/<name>.svg, which `restyle` will draw anew."""
    action.setProperty(_NAME, name)
    action.setIcon(_tinted(name))


def restyle(window: QWidget) -> None:
    """Draws the icons of the window's actions again: the scheme has changed."""
    for action in window.findChildren(QAction):
        if name := action.property(_NAME):
            action.setIcon(_tinted(name))


def _tinted(name: str) -> QIcon:
    shape, made = QIcon(str(assets.path(f"{name}.svg"))), QIcon()
    for size in _SIZES:
        pixmap = shape.pixmap(size, size)
        pixmap.setDevicePixelRatio(1)
        painter = QPainter(pixmap)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
        painter.fillRect(pixmap.rect(), QColor(theme.palette().text))
        painter.end()
        made.addPixmap(pixmap)
    return made
