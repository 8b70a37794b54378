"""Icons in the text colour of the palette on screen."""

from PySide6.QtGui import QAction, QColor, QIcon, QPainter
from PySide6.QtWidgets import QWidget

from app.style import theme

_SIZES = (18, 36, 54)
"""Pixels, for screens with a scale of 1, 2 and 3."""
_NAME = "icon_name"


def set_icon(action: QAction, name: str) -> None:
    """Give the action the icon resources/<name>.svg; `restyle` redraws it."""
    action.setProperty(_NAME, name)
    action.setIcon(_tinted(name))


def restyle(window: QWidget) -> None:
    """Redraw the icons of the window's actions after a change of palette."""
    for action in window.findChildren(QAction):
        if name := action.property(_NAME):
            action.setIcon(_tinted(name))


def _tinted(name: str) -> QIcon:
    shape, tinted = QIcon(str(theme.RESOURCES / f"{name}.svg")), QIcon()
    for size in _SIZES:
        pixmap = shape.pixmap(size, size)
        pixmap.setDevicePixelRatio(1)
        painter = QPainter(pixmap)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
        painter.fillRect(pixmap.rect(), QColor(theme.palette().text))
        painter.end()
        tinted.addPixmap(pixmap)
    return tinted
