"""Encoded images of fixed size, for environments whose states can't be drawn later.

An image is a row of bytes: a PNG if it fits, as most pictures of games do, otherwise a JPEG. Rows are padded with zeros,
which decoders ignore, so that they can be stacked in arrays and a pool of them has a known size.
"""

import cv2
import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
ROW_BYTES = 6144
"""Size of an encoded image in bytes; a segment of 30 steps has 184 kB."""
_LONGEST_SIDE = 210
_QUALITIES = (85, 60, 35, 15, 5)


def encode_image(pixels: Pixels) -> Pixels:
    """Encode an image (height, width, 3) uint8 RGB as a row (ROW_BYTES,) uint8, reduced in size if necessary."""
    small = np.ascontiguousarray(pixels)
    if max(pixels.shape) > _LONGEST_SIDE:
        height, width = fitted_size(pixels, _LONGEST_SIDE)
        small = _resize(pixels, (width, height))
    image = cv2.cvtColor(small, cv2.COLOR_RGB2BGR)
    settings = [(".png", [cv2.IMWRITE_PNG_COMPRESSION, 5])]
    settings += [(".jpg", [cv2.IMWRITE_JPEG_QUALITY, quality]) for quality in _QUALITIES]
    row = np.zeros(ROW_BYTES, np.uint8)
    for kind, options in settings:
        _, data = cv2.imencode(kind, image, options)
        if data.size <= ROW_BYTES:
            row[: data.size] = data
            return row
    return encode_image(_resize(pixels, (max(1, pixels.shape[1] // 2), max(1, pixels.shape[0] // 2))))


def decode_image(row: Pixels) -> Pixels | None:
    """Decode a row (ROW_BYTES,) uint8 to an image (height, width, 3) uint8 RGB; None if the row has no such image."""
    if not row.any():
        return None
    try:
        image = cv2.imdecode(row, cv2.IMREAD_COLOR)
    except cv2.error:  # its size is impossible
        return None
    if image is None or max(image.shape) > _LONGEST_SIDE:
        return None
    return np.ascontiguousarray(image[..., ::-1], np.uint8)


def fit_to_square(pixels: Pixels, size: int) -> Pixels:
    """Scale an image, (height, width, 3) uint8, to fit into (size, size, 3), centred on black."""
    height, width = fitted_size(pixels, size)
    inner, square = _resize(pixels, (width, height)), np.zeros((size, size, 3), np.uint8)
    top, left = (size - height) // 2, (size - width) // 2
    square[top : top + height, left : left + width] = inner
    return square


def fitted_size(pixels: Pixels, side: int) -> tuple[int, int]:
    """Return the height and width of an image (height, width, 3) after scaling its longer side to `side` pixels."""
    height, width = pixels.shape[:2]
    scale = side / max(height, width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def _resize(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    """size: (width, height)"""
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
