"""The bars of an audience's votes."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from app.style import theme
from app.voting.panel import VoteBars


def columns(image: QImage, colour: str) -> list[int]:
    """Return the columns that have a pixel of this colour."""
    height = range(image.height())
    return [x for x in range(image.width()) if any(image.pixelColor(x, y).name() == colour for y in height)]


@pytest.mark.parametrize("height", [90, 240])
def test_names_keep_their_distance_from_the_bars(qtbot: QtBot, height: int) -> None:
    bars = VoteBars()
    qtbot.addWidget(bars)
    bars.resize(1000, height)
    bars.set_votes({"left": 2, "tie": 1, "right": 3}, 0.0)
    bars.halt()
    line = height // 3
    right = bars.grab().toImage().copy(0, 2 * line, 500, line)
    bar = columns(right, theme.palette().green)[0]
    name = [x for x in columns(right, theme.palette().text) if x < bar]
    assert name and bar - name[-1] > 0.2 * line
