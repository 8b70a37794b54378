"""The deadlines of the clips' clock, with a time that the tests set."""

from __future__ import annotations

from typing import Any

import pytest

from app.clips.frame_clock import PAUSE, FrameClock
from tests.clock import Clock


@pytest.fixture
def time(qapp: Any) -> Clock:
    return Clock()


@pytest.fixture
def shown() -> list[int]:
    return []


@pytest.fixture
def clock(time: Clock, shown: list[int]) -> FrameClock:
    """Clock of a loop of 8 frames at 20 per second, at its first frame. No event loop runs: tests call `tick`."""
    made = FrameClock(now=time)
    made.frame_due.connect(shown.append)
    made.play(8, 20.0)
    return made


def play_frames(clock: FrameClock, time: Clock, count: int) -> list[float]:
    """Tick at `count` deadlines; return how long each frame was shown."""
    gaps = []
    for _ in range(count):
        before, time.now = time.now, clock.deadline
        clock.tick()
        gaps.append(time.now - before)
    clock.halt()
    return gaps


@pytest.mark.parametrize(("speed", "each"), [(0.25, 0.2), (0.5, 0.1), (1.0, 0.05), (2.0, 0.025)])
def test_each_frame_is_shown_for_the_time_given_by_the_speed(
    clock: FrameClock, time: Clock, shown: list[int], speed: float, each: float
) -> None:
    clock.set_speed(speed)
    shown.clear()
    assert play_frames(clock, time, 10) == pytest.approx([each] * 7 + [each + PAUSE] + [each] * 2)
    assert shown == [1, 2, 3, 4, 5, 6, 7, 0, 1, 2]


def test_a_stride_skips_frames_but_never_the_first_of_a_loop(clock: FrameClock, time: Clock, shown: list[int]) -> None:
    clock.stride = 3
    shown.clear()
    assert play_frames(clock, time, 6) == pytest.approx([0.15, 0.15, 0.1 + PAUSE] * 2)
    assert shown == [3, 6, 0, 3, 6, 0]


def test_timer_errors_do_not_accumulate(clock: FrameClock, time: Clock) -> None:
    for _ in range(100):
        time.now = clock.deadline + 0.004  # the timer is late each time
        clock.tick()
    clock.halt()
    assert clock.deadline == pytest.approx(100.0 + 101 * 0.05 + 12 * PAUSE)


def test_after_hours_of_sleep_one_frame_is_shown_and_the_loop_continues(
    clock: FrameClock, time: Clock, shown: list[int]
) -> None:
    shown.clear()
    time.now += 40_000 * (8 * 0.05 + PAUSE) + 0.15
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
    clock.set_speed(2.0)  # while halted it stays halted
    assert not clock.playing and clock.frame == 3
