"""Images of frames and widgets, encoded as PNG or JPEG."""

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QBuffer, QIODevice, QPoint
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget

from app.style import theme

_SCALE, _JPEG_QUALITY = 3, 88
"""Image pixels per widget pixel, sharp enough for a slide."""


def of_pixels(pixels: npt.NDArray[np.uint8]) -> QImage:
    """Return an image of `(height, width, 3) uint8` RGB pixels. It does not copy them: keep the array alive."""
    height, width, _ = pixels.shape
    return QImage(pixels.data, width, height, 3 * width, QImage.Format.Format_RGB888)


def picture_of(widget: QWidget) -> QImage:
    """Render the widget as it is on screen, at three times the resolution."""
    image = QImage(widget.size() * _SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SCALE)
    image.fill(theme.palette().background)
    painter = QPainter(image)
    widget.render(painter, QPoint(), renderFlags=QWidget.RenderFlag.DrawChildren)
    painter.end()
    return image


def encoded(image: QImage, kind: str) -> bytes:
    """Encode as "PNG" or "JPG"; callable in any thread. Raises ValueError if Qt can't."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, kind, _JPEG_QUALITY if kind == "JPG" else -1):  # type: ignore[call-overload]
        raise ValueError(f"the image can't be encoded as {kind}")
    return bytes(buffer.data().data())
