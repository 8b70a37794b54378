"""The strip of predicted reward below an episode."""

from __future__ import annotations

import numpy as np
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from app.live.demonstrations import Demonstration
from app.live.policy_player import PolicyPlayer
from app.live.reward_timeline import RewardTimeline
from app.style import theme
from tests.app.fakes import make_frames
from tests.app.live_view_driver import demonstration, rewards
from tests.app.tape import has_colour

WIDTH = 120


def shown(qtbot: QtBot, predicted: list[float]) -> RewardTimeline:
    timeline = RewardTimeline()
    qtbot.addWidget(timeline)
    timeline.resize(WIDTH, timeline.height())
    timeline.set_predicted(np.array(predicted, np.float32))
    return timeline


def halves(timeline: RewardTimeline) -> list[list[QImage]]:
    """Return the upper half, left and right, and the lower half, left and right."""
    image, width, height = timeline.grab().toImage(), WIDTH // 2, timeline.height() // 2
    return [[image.copy(x, y, width, height) for x in (0, width)] for y in (0, height)]


def test_rewards_above_the_average_are_green_bars_upwards_and_those_below_blue_bars_downwards(qtbot: QtBot) -> None:
    colours = theme.palette()
    (up_left, up_right), (down_left, down_right) = halves(shown(qtbot, [9.0, -9.0]))
    assert has_colour(up_left, colours.green) and not has_colour(down_left, colours.green)
    assert has_colour(down_right, colours.blue) and not has_colour(up_right, colours.blue)


def test_the_playhead_follows_the_episode(qtbot: QtBot) -> None:
    timeline = shown(qtbot, [1.0, 1.0])
    for share, there in ((0.2, [True, False]), (0.8, [False, True])):
        timeline.set_share(share)
        assert [has_colour(half, theme.palette().text) for half in halves(timeline)[0]] == there


def test_without_a_reward_a_sentence_replaces_the_playhead(qtbot: QtBot) -> None:
    timeline = shown(qtbot, [])
    empty = timeline.grab().toImage()
    assert has_colour(empty, theme.palette().muted)
    timeline.set_share(0.5)
    assert timeline.grab().toImage() == empty


def test_the_legend_appears_with_the_first_colours_without_moving_the_layout(qtbot: QtBot) -> None:
    player = PolicyPlayer("The policy acting")
    qtbot.addWidget(player)
    player.play_now(Demonstration(make_frames(), rewards(), 0))
    height = player.legend.sizeHint().height()
    assert player.legend.text() == ""
    player.play_now(demonstration())
    assert "above average" in player.legend.text() and player.legend.sizeHint().height() == height
    player.clock.halt()
