"""Images of frames, and their encoding as PNG or JPEG.

Threads other than the window's must not use classes of Qt that connect signals, such as QTextStream, because they may
deadlock: connecting waits for a lock of Qt while holding the GIL, and the window's thread may hold that lock while it
deletes widgets and waits for the GIL.
"""

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QImage

_JPEG, _JPEG_QUALITY = b"\xff\xd8\xff", 88


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


def decoded(jpeg: bytes | bytearray) -> QImage:
    """Decode a JPEG; callable in any thread. Returns a null image if it is damaged or something else.

    The first bytes are checked here, because Qt uses a QTextStream to recognize other content. A QImageReader over a
    QBuffer made in Python is no alternative: it holds a lock while it calls methods of the buffer, which wait for the GIL.
    """
    if not jpeg.startswith(_JPEG):
        return QImage()
    return QImage.fromData(QByteArray(jpeg), "JPG")  # type: ignore[arg-type]
