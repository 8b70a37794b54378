"""The widget for one clip."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from app.clips.clip_pair import ClipPair
from app.clips.clip_player import ClipPlayer
from core.types import Frames


def centre(player: ClipPlayer) -> QColor:
    return player.grab().toImage().pixelColor(player.rect().center())


def test_the_last_frame_is_shaded_to_mark_the_end_of_the_loop(qtbot: QtBot) -> None:
    player = ClipPlayer("Clip")
    qtbot.addWidget(player)
    player.resize(200, 200)
    player.set_frames(Frames(np.full((4, 32, 32, 3), 200, np.uint8), 30.0))
    lights = []
    for index in range(4):
        player.show_frame(index)
        lights.append(centre(player).red())
    assert lights[:3] == [200] * 3 and 120 < lights[3] < 180
    player.set_frames(Frames(np.full((1, 32, 32, 3), 200, np.uint8), 30.0))  # a still has no end
    assert centre(player).red() == 200


@pytest.mark.parametrize("side", [300, 1800])
def test_the_text_of_a_flash_keeps_its_distance_from_the_edges_of_its_badge(qtbot: QtBot, side: int) -> None:
    player = ClipPlayer("Clip")
    qtbot.addWidget(player)
    player.resize(side, side)
    player.set_frames(Frames(np.zeros((1, 32, 32, 3), np.uint8), 30.0))
    player.set_flash("#ff0000", "Disagreement")
    image = player.grab().toImage().convertToFormat(QImage.Format.Format_RGBX8888)
    red = (np.array(image.constBits()).reshape(side, side, 4)[20 : side // 2, 20:-20, :3] == (255, 0, 0)).all(
        -1
    )  # within the border
    rows, columns = np.flatnonzero(red.any(1)), np.flatnonzero(red.any(0))
    height = rows[-1] - rows[0]
    ends = red[rows[0] : rows[-1], columns[0] : columns[-1]][height // 3 : 2 * height // 3]
    for end in (ends, ends[:, ::-1]):
        assert np.flatnonzero(~end.all(0) & (np.arange(end.shape[1]) > height / 4))[0] > 0.4 * height


def test_the_clips_of_a_pair_stay_close_together_in_a_wide_window(qtbot: QtBot) -> None:
    pair = ClipPair()
    qtbot.addWidget(pair)
    pair.resize(1000, 200)
    pair.show()
    frames = Frames(np.full((2, 32, 32, 3), 200, np.uint8), 30.0)
    for player in (pair.left, pair.right):
        player.set_frames(frames)
    image = pair.grab().toImage()
    columns = [x for x in range(image.width()) if image.pixelColor(x, 100).red() == 200]
    assert len(columns) > 380 and columns[-1] - columns[0] < 430  # two squares of 200 with their borders and a gap
