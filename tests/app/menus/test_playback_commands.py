"""Playback by its keys: pausing, stepping and speed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from tests.app.fakes import Face, make_query

SPEED_KEYS = [(Qt.Key.Key_1, 0.25), (Qt.Key.Key_2, 0.5), (Qt.Key.Key_3, 1.0), (Qt.Key.Key_4, 2.0)]


def test_comma_and_period_step_both_clips_together(face: Face) -> None:
    face.offer(make_query())
    clips = face.window.clips
    face.press(Qt.Key.Key_Space)
    start = clips.clock.frame
    keys = [Qt.Key.Key_Period] * 3 + [Qt.Key.Key_Comma] * 5
    seen = []
    for key in keys:
        face.press(key)
        seen.append((clips.left.index, clips.right.index))
    expected = [(start + by) % 8 for by in (1, 2, 3, 2, 1, 0, -1, -2)]
    assert seen == [(frame, frame) for frame in expected]
    assert not clips.clock.playing


def test_r_restarts_both_clips(face: Face) -> None:
    face.offer(make_query())
    clips = face.window.clips
    clips.step(3)
    face.press(Qt.Key.Key_R)
    assert (clips.left.index, clips.right.index) == (0, 0) and clips.clock.playing


def test_the_speed_is_shown_and_stays_for_the_next_pair(face: Face) -> None:
    queries = face.offer(*[make_query() for _ in range(5)])
    for (key, speed), following in zip(SPEED_KEYS, queries[1:], strict=True):
        face.press(key)
        face.press(Qt.Key.Key_Left)
        face.wait_until(lambda query=following: face.query is query)
        assert face.window.clips.clock.speed == speed and face.window.clips.clock.playing
        assert face.window.playback_status.text() == ("" if speed == 1 else f"speed {speed:g}×")


def test_the_speed_is_kept_for_the_next_run(open_face: Callable[..., Face]) -> None:
    face = open_face()
    face.press(Qt.Key.Key_1)
    face.close()
    again = open_face()
    assert again.window.clips.clock.speed == 0.25
    assert again.window.playback_status.text() == "speed 0.25×"


def let_rest(face: Face) -> None:
    """Let both halves of the minute pass."""
    for resting in (False, True):
        face.window.idle_pause.timer.timeout.emit()
        assert face.window.idle_pause.text.isVisible() == resting != face.window.clips.clock.playing


def test_without_input_the_clips_rest_and_any_key_plays_them(face: Face) -> None:
    face.offer(make_query())
    clips, rest = face.window.clips, face.window.idle_pause
    assert rest.timer.interval() == 30_000
    for key in (Qt.Key.Key_Shift, Qt.Key.Key_Space, Qt.Key.Key_Left, Qt.Key.Key_Period):
        assert clips.clock.playing and not rest.text.isVisible()
        let_rest(face)
        assert face.window.live.policy.clock.stride == 2  # every second frame is drawn
        face.press(key)
        face.wait_until(lambda: clips.clock.playing and not rest.text.isVisible())
        assert face.window.live.policy.clock.stride == 1
    assert face.controller.progress.labels == 0  # the key that plays them does not count as an answer
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.controller.progress.labels == 1)


def test_input_ends_a_rest_while_another_page_hides_the_clips(face: Face) -> None:
    """Otherwise the text "no key counts as an answer" would cover clips whose keys do count."""
    face.offer(make_query())
    clips, rest = face.window.clips, face.window.idle_pause
    let_rest(face)
    face.stop()
    assert not clips.isVisible()
    face.press(Qt.Key.Key_Shift)
    face.window.pause_action.trigger()
    face.wait_until(clips.isVisible)
    assert clips.clock.playing and not rest.text.isVisible()


def test_input_restarts_the_minute_and_the_mouse_plays_the_clips(face: Face) -> None:
    face.offer(make_query())
    clips, rest = face.window.clips, face.window.idle_pause
    rest.timer.stop()
    face.press(Qt.Key.Key_R)
    assert rest.timer.isActive()
    rest.timer.timeout.emit()
    face.press(Qt.Key.Key_Shift)  # has no effect except to show that a person is present
    let_rest(face)
    place, none = QPointF(5, 5), Qt.MouseButton.NoButton
    moved = QMouseEvent(QEvent.Type.MouseMove, place, place, none, none, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(face.window, moved)
    assert clips.clock.playing and not rest.text.isVisible()


def test_switching_predictions_shows_a_message(face: Face) -> None:
    for text in ("predictions after each answer", ""):
        face.press(Qt.Key.Key_T)
        assert face.window.playback_status.text() == text
