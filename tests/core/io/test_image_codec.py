"""Encoded images of fixed size."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from core.io.image_codec import ROW_BYTES, decode_image, encode_image


@pytest.mark.parametrize("height", [40, 400])
def test_a_picture_is_decoded_as_it_was_encoded_or_smaller(height: int) -> None:
    pixels = np.full((height, height, 3), (10, 200, 90), np.uint8)
    decoded = decode_image(encode_image(pixels))
    assert decoded is not None and decoded.shape == (min(height, 210), min(height, 210), 3)
    assert np.abs(decoded.astype(int) - (10, 200, 90)).max() <= 2


@pytest.mark.parametrize("side", [300, 30_000])
def test_a_picture_larger_than_any_that_is_encoded_is_not_decoded(side: int) -> None:
    """Its header, which a stranger may have written, would otherwise take gigabytes."""
    jpeg = bytearray(cv2.imencode(".jpg", np.zeros((16, 16, 3), np.uint8))[1].tobytes())
    at = jpeg.index(b"\xff\xc0") + 5
    jpeg[at : at + 4] = 2 * side.to_bytes(2, "big")
    row = np.zeros(ROW_BYTES, np.uint8)
    row[: len(jpeg)] = jpeg
    assert decode_image(row) is None
    if side == 30_000:
        with pytest.raises(cv2.error, match="MAX_IMAGE_PIXELS"):
            cv2.imdecode(row, cv2.IMREAD_COLOR)
