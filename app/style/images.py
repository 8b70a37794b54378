"""A widget as a picture in a file."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtWidgets import QWidget

from app.style import theme

_SCALE = 3
"""Pixels of the picture for one of the widget: sharp enough for a slide."""


def picture_of(widget: QWidget) -> QImage:
    """As it is on screen, and as large, at three times the resolution."""
    image = QImage(widget.size() * _SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SCALE)
    image.fill(theme.palette().background)
    painter = QPainter(image)
    widget.render(painter, QPoint(), renderFlags=QWidget.RenderFlag.DrawChildren)
    painter.end()
    return image


def png(image: QImage) -> bytes:
    """May be called in any thread."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(buffer.data().data())


_QUALITY = 88


def encoded(image: QImage) -> bytes:
    """The image as a JPEG."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "JPG", _QUALITY):  # type: ignore[call-overload]
        raise ValueError("the picture can't be written as a JPEG")
    return bytes(buffer.data().data())
