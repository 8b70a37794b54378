"""Images of frames, and their encoding as PNG or JPEG.

Threads other than the window's must not call anything of Qt that connects signals, such as QTextStream: it waits for a
lock with Python's lock held, while the window's thread may hold that lock, as it deletes widgets, and wait for Python's.
Both would wait forever.
"""

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QImage, QImageReader

_JPEG_QUALITY = 88


def of_pixels(pixels: npt.NDArray[np.uint8]) -> QImage:
    """Return an image of `(height, width, 3) uint8` RGB pixels. It does not copy them: keep the array alive."""
    height, width, _ = pixels.shape
    return QImage(pixels.data, width, height, 3 * width, QImage.Format.Format_RGB888)


def encoded(image: QImage, kind: str) -> bytes:
    """Encode as "PNG" or "JPG"; callable in any thread. Raises ValueError if Qt can't."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, kind, _JPEG_QUALITY if kind == "JPG" else -1):  # type: ignore[call-overload]
        raise ValueError(f"the image can't be encoded as {kind}")
    return bytes(buffer.data().data())


def decoded(content: bytes | bytearray, kind: str) -> QImage:
    """Decode "PNG" or "JPG"; callable in any thread. Returns a null image if it is damaged or of another kind.

    The kind is given because Qt looks for it with a QTextStream.
    """
    buffer = QBuffer()
    buffer.setData(QByteArray(content))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, kind.encode())
    reader.setAutoDetectImageFormat(False)
    return reader.read()
