"""The clips' clock by its deadlines, with a clock of the test's own; and stepping and speed by their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.clips.frame_clock import FrameClock
from tests.app.fakes import Face, make_query

SPEED_KEYS = [(Qt.Key.Key_1, 0.25), (Qt.Key.Key_2, 0.5), (Qt.Key.Key_3, 1.0), (Qt.Key.Key_4, 2.0)]


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(qapp: Any) -> Clock:
    return Clock()


@pytest.fixture
def shown() -> list[int]:
    return []


@pytest.fixture
def clock(time: Clock, shown: list[int]) -> FrameClock:
    """A loop of 8 frames at 20 a second, at its first frame; its timer is stopped and `tick` called by hand."""
    made = FrameClock(now=time)
    made.frame_due.connect(shown.append)
    made.play(8, 20.0)
    return made


def play_frames(clock: FrameClock, time: Clock, count: int) -> list[float]:
    """Ticks at so many deadlines; how long each frame stood."""
    gaps = []
    for _ in range(count):
        before, time.now = time.now, clock.deadline
        clock.tick()
        gaps.append(time.now - before)
    clock.halt()
    return gaps


@pytest.mark.parametrize(("speed", "each"), [(0.25, 0.2), (0.5, 0.1), (1.0, 0.05), (2.0, 0.025)])
def test_each_frame_stands_as_long_as_the_speed_says(
    clock: FrameClock, time: Clock, shown: list[int], speed: float, each: float
) -> None:
    clock.set_speed(speed)
    shown.clear()
    assert play_frames(clock, time, 10) == pytest.approx([each] * 10)
    assert shown == [1, 2, 3, 4, 5, 6, 7, 0, 1, 2]


def test_an_error_does_not_add_up(clock: FrameClock, time: Clock) -> None:
    for _ in range(100):
        time.now = clock.deadline + 0.004  # the timer is late each time
        clock.tick()
    clock.halt()
    assert clock.deadline == pytest.approx(50.0 + 101 * 0.05)


def test_frames_that_are_missed_are_left_out(clock: FrameClock, time: Clock, shown: list[int]) -> None:
    time.now += 0.16
    clock.tick()
    clock.halt()
    assert shown == [0, 3] and clock.deadline == pytest.approx(50.2)


def test_after_hours_of_sleep_one_frame_is_shown_and_the_loop_goes_on(
    clock: FrameClock, time: Clock, shown: list[int]
) -> None:
    shown.clear()
    time.now += 8 * 3600 + 0.15
    clock.tick()
    assert shown == [3] and play_frames(clock, time, 2) == pytest.approx([0.05] * 2)
    assert shown == [3, 4, 5]


def test_another_speed_keeps_the_frame_on_screen(clock: FrameClock, time: Clock, shown: list[int]) -> None:
    play_frames(clock, time, 3)
    clock.resume()
    clock.set_speed(0.5)
    assert clock.frame == 3 and shown[-1] == 3
    assert clock.deadline - time.now == pytest.approx(0.1)
    clock.halt()
    clock.set_speed(2.0)  # held: it stays held
    assert not clock.playing and clock.frame == 3


def test_steps_go_round_and_hold(clock: FrameClock, shown: list[int]) -> None:
    clock.step(-1)
    clock.step(1)
    clock.step(1)
    assert shown == [0, 7, 0, 1] and not clock.playing and clock.frame == 1
    clock.resume()
    assert shown[-1] == 1 and clock.playing
    clock.halt()


def test_an_empty_clock_has_nothing_to_step(qapp: Any) -> None:
    empty = FrameClock()
    empty.step(1)
    assert empty.frame == 0 and not empty.playing


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


def test_a_step_holds_clips_that_play(face: Face) -> None:
    face.offer(make_query())
    face.press(Qt.Key.Key_Period)
    assert not face.window.clips.clock.playing
    assert face.window.playback_words.text() == f"held at frame {face.window.clips.clock.frame + 1} of 8"
    face.press(Qt.Key.Key_Space)
    assert face.window.clips.clock.playing and face.window.playback_words.text() == ""


def test_without_a_pair_nothing_steps_or_plays(face: Face) -> None:
    for key in (Qt.Key.Key_Period, Qt.Key.Key_Comma, Qt.Key.Key_Space):
        face.press(key)
    assert not face.window.clips.clock.playing and face.window.playback_words.text() == ""


@pytest.mark.parametrize(("key", "speed"), SPEED_KEYS)
def test_the_speed_is_shown_and_stays_for_the_next_pair(face: Face, qtbot: QtBot, key: Qt.Key, speed: float) -> None:
    first, second = make_query(), make_query()
    face.offer(first, second)
    face.press(key)
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: face.query is second)
    assert face.window.clips.clock.speed == speed and face.window.clips.clock.playing
    assert face.window.playback_words.text() == ("" if speed == 1 else f"speed {speed:g}×")


def test_the_speed_is_kept_for_the_next_run(open_face: Callable[..., Face]) -> None:
    face = open_face()
    face.press(Qt.Key.Key_1)
    face.close()
    again = open_face()
    assert again.window.clips.clock.speed == 0.25
    assert again.window.playback_words.text() == "speed 0.25×"


def test_the_next_pair_plays_though_the_last_was_held(face: Face, qtbot: QtBot) -> None:
    first, second = make_query(), make_query()
    face.offer(first, second)
    face.press(Qt.Key.Key_Space)
    face.press(Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: face.query is second)
    assert face.window.clips.clock.playing
