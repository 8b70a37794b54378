"""Pictures of environments whose state can't be drawn later: small, and each in the same few bytes.

A picture is a row of bytes: a PNG where that fits, as with the flat colours of games, or else a JPEG. Rows are filled
up with zeros, which no decoder minds, so that they stack like numbers and a pool of them has a known size.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
ROW = 6144
"""Bytes of a picture; a segment of 30 steps is 184 kB."""
_SIDE = 210
"""Larger pictures are made smaller, to this many pixels on their longer side."""
_QUALITIES = (85, 60, 35, 15, 5)


def encoded(pixels: Pixels) -> Pixels:
    """(height, width, 3) RGB -> (ROW,) bytes."""
    image = cv2.cvtColor(_small(pixels), cv2.COLOR_RGB2BGR)
    settings = [(".png", [cv2.IMWRITE_PNG_COMPRESSION, 5])]
    settings += [(".jpg", [cv2.IMWRITE_JPEG_QUALITY, quality]) for quality in _QUALITIES]
    row = np.zeros(ROW, np.uint8)
    for kind, options in settings:
        _, data = cv2.imencode(kind, image, options)
        if data.size <= ROW:
            row[: data.size] = data
            return row
    return encoded(_resized(pixels, (max(1, pixels.shape[1] // 2), max(1, pixels.shape[0] // 2))))


def decoded(row: Pixels) -> Pixels | None:
    """(ROW,) bytes -> (height, width, 3) RGB; None where there is none."""
    if not row.any():
        return None
    image = cv2.imdecode(row, cv2.IMREAD_COLOR)
    return None if image is None else np.ascontiguousarray(image[..., ::-1], np.uint8)


def fitted(pixels: Pixels, size: int) -> Pixels:
    """The picture as large as it fits into a square of that size, on black."""
    height, width = pixels.shape[:2]
    scale = size / max(height, width)
    inner = max(1, round(width * scale)), max(1, round(height * scale))
    result = np.zeros((size, size, 3), np.uint8)
    top, left = (size - inner[1]) // 2, (size - inner[0]) // 2
    result[top : top + inner[1], left : left + inner[0]] = _resized(pixels, inner)
    return result


def _small(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    scale = _SIDE / max(height, width)
    if scale >= 1:
        return np.ascontiguousarray(pixels)
    return _resized(pixels, (max(1, round(width * scale)), max(1, round(height * scale))))


def _resized(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    """To (width, height)."""
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
