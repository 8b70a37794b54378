"""The side panel of demo mode: before and now, the counters, and the learning curve."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from app.style import theme
from app.windows.demo_side import DemoSide
from core.service_events import ReplayRendered, ReplayRequested
from tests.app.fakes import Face, make_frames
from tests.app.live_view_driver import demonstration, learned, rewards
from tests.app.tape import has_colour, show_true_reward


@pytest.fixture
def side(face: Face) -> Iterator[DemoSide]:
    learned(face, 0, 10**10)
    face.window.live.set_live(demonstration())
    face.press(Qt.Key.Key_F11)
    yield face.window.watching_commands.demo.side
    face.window.watching_commands.leave_demo()


def test_the_untrained_policy_acts_beside_the_newest(face: Face, side: DemoSide) -> None:
    face.wait_until(lambda: bool(face.engine["clips"].got(ReplayRequested)))
    (request,) = face.engine["clips"].got(ReplayRequested)
    assert request.weights["weights"].tolist() == [0] * 4
    face.engine["clips"].play(ReplayRendered(request.token, make_frames(), rewards(1, 2, 3), {}))
    face.wait_until(lambda: side.before.shown is not None)
    assert side.before.shown and side.before.shown.snapshot and side.before.shown.snapshot.env_steps == 0
    assert side.now.shown is not None and side.now.shown.snapshot is None
    assert side.before.player.height() == side.now.player.height() > 150
    assert "above average" in side.now.legend.text() and side.now.legend.isVisible()
    assert (
        side.now.legend.fontMetrics().horizontalAdvance("Predicted reward: ■ above average ■ below")
        < side.now.legend.width()
    )


def test_the_curve_shows_the_measure_unless_it_is_hidden(face: Face, side: DemoSide) -> None:
    metrics, task = face.controller.metrics, face.controller.task
    for step in range(1, 5):
        metrics.append("predicted return", float(step), 10.0 * step)
        metrics.append(task.measure_name, float(step), 0.5 * step)
    side.refresh()
    assert side.curve.points[1].tolist() == [10, 20, 30, 40] and side.curve_title.text() == "Predicted return"
    assert side.measure.isHidden()
    show_true_reward(face)
    side.refresh()
    assert side.curve.points[1].tolist() == [0.5, 1, 1.5, 2] and side.measure.text() == "2.0"
    assert side.curve.height() > 40
    picture: QImage = side.curve.grab().toImage()
    assert has_colour(picture, theme.palette().green)


def written(picture: QImage) -> int:
    """Return the height in pixels of the text across the middle of a picture."""
    edge, quarter = 12, picture.width() // 4
    ground, columns = picture.pixel(edge, edge), range(quarter, 3 * quarter)
    return sum(any(picture.pixel(x, y) != ground for x in columns) for y in range(edge, picture.height() - edge))


def test_placeholder_texts_scale_with_the_screen(face: Face, side: DemoSide) -> None:
    parts = side.before.player, side.curve
    face.wait_until(lambda: min(part.height() for part in parts) > 100)
    heights = []
    for scale in (1, 2):
        side.set_scale(scale)
        heights.append([written(part.grab().toImage()) for part in parts])
    for small, large in zip(*heights, strict=True):
        assert small > 6 and large > 1.6 * small
    face.controller.metrics.append("predicted return", 1.0, 10.0)
    side.refresh()
    assert written(side.curve.grab().toImage()) == 0  # its only point is at the right edge


def test_answers_come_first_and_steps_second(face: Face, side: DemoSide) -> None:
    face.controller.progress.counted(40)
    face.controller.progress.reported(565_248)
    side.refresh()
    assert (side.answers.text(), side.steps.text(), side.steps_unit.text()) == ("40", "565k", "environment steps")
