"""Encoding and decoding of pictures."""

from __future__ import annotations

import numpy as np
import pytest

from app.style.images import decoded, encoded, of_pixels

_DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"><rect width="4" height="3"/></svg>'


def test_a_decoded_picture_equals_the_encoded_one() -> None:
    pixels = np.full((48, 64, 3), (200, 100, 50), np.uint8)
    image = decoded(encoded(of_pixels(pixels), "JPG"))
    assert (image.width(), image.height()) == (64, 48)
    colour = image.pixelColor(30, 20)
    assert np.abs(np.subtract((colour.red(), colour.green(), colour.blue()), (200, 100, 50))).max() <= 2


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff\xd8\xff\xe0", _DRAWING], ids=str)
def test_damaged_content_and_other_formats_are_refused(content: bytes) -> None:
    """SVG is refused as well: checking for it in a thread can block the whole program."""
    assert decoded(content).isNull()
