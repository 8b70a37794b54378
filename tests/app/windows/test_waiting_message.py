"""The message while there is no pair, with a countdown if the time is known."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt

from app.labelling.countdown import Countdown, usual_start_seconds
from app.labelling.progress import Progress
from app.session.controller import LOST_TRAINING, State
from core.events import Event
from core.session.session import Session
from tests.app.fakes import FULL, Face, make_query, numbers
from tests.clock import Clock
from tests.core.builders import raising


def texts(face: Face) -> tuple[str, str]:
    face.window.refresh()
    return face.window.empty.headline.text(), face.window.empty.detail.text()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def counting(face: Face, clock: Clock) -> None:
    """A session as if just started, with a clock that the tests set."""
    face.controller.progress.first_pair = Countdown(8.0, clock)
    face.controller.progress.first_pair.begin()


def test_the_message_counts_down_to_the_first_segments(face: Face, clock: Clock) -> None:
    counting(face, clock)
    clock.now += 2.0
    assert texts(face) == (
        "Recording the first clips: 6 s left",
        "The first clips appear here when they are rendered.",
    )
    clock.now += 5.5
    assert texts(face)[0] == "Recording the first clips: 1 s left"
    clock.now += 1.0
    assert texts(face)[0] == "Recording the first clips: taking longer than usual"


def test_the_seconds_to_the_first_pair_are_kept_for_the_next_start(
    open_face: Callable[..., Face], clock: Clock
) -> None:
    face = open_face()
    counting(face, clock)
    clock.now += 4.2
    face.offer(make_query())
    face.wait_until(lambda: face.query is not None)
    assert usual_start_seconds("hopper-backflip") == 4.2
    face.close()
    assert open_face().controller.progress.first_pair.expected == 4.2


def test_the_message_counts_down_to_later_pairs_at_the_recent_pace(face: Face, clock: Clock) -> None:
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is None)
    assert texts(face) == ("Recording new clips", "The next pair will appear soon.")
    progress = face.controller.progress = Progress(face.controller.session.config, clock)
    for _ in range(3):
        progress.offered()
        clock.now += 6.0
    clock.now -= 4.0
    assert texts(face) == ("Recording new clips: 4 s left", "Estimated from the recent pace.")


def test_the_message_of_a_paused_stopped_or_failed_session_says_what_to_do(face: Face) -> None:
    face.window.pause_action.trigger()
    assert texts(face)[0] == "Paused" and "Press Resume" in texts(face)[1]
    face.window.pause_action.trigger()
    face.learn()
    face.engine["policy"].die()
    face.wait_until(lambda: face.controller.state == State.FAILED)
    assert texts(face)[0] == "Training has stopped"
    face.stop()
    assert texts(face) == ("Stopped", f"{LOST_TRAINING} Press Start to continue.")  # one of its jobs had ended
    assert face.controller.abandoned == LOST_TRAINING


def test_the_message_after_a_stop_says_whether_training_was_saved(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    face.stop()
    assert texts(face) == ("Stopped", "Everything was saved. Press Start to continue.")
    assert face.controller.abandoned == ""
    face.window.pause_action.trigger()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    face.learn()
    monkeypatch.setattr(Session, "save", raising(FULL))
    face.stop()
    assert texts(face)[1].startswith(LOST_TRAINING)
    face.window.pause_action.trigger()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    face.stop()
    assert texts(face)[1] == f"{FULL} Press Start to continue."  # nothing has been learned since the restart


def test_reports_during_the_last_checkpoint_are_not_called_lost(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    face.learn()
    policy, held = face.engine["policy"], list[Event]()
    play = policy.play
    monkeypatch.setattr(policy, "play", held.append)
    with face.wait_signal(face.controller.stopped):
        face.window.stop_action.trigger()
        face.wait_until(lambda: bool(held))
        face.learn()
        play(held[0])
    assert texts(face)[1].startswith("Everything was saved.")


@pytest.mark.parametrize("learned", [False, True])
def test_unresponsive_jobs_delay_no_stop_and_only_new_training_is_lost(
    face: Face, monkeypatch: pytest.MonkeyPatch, learned: bool
) -> None:
    if learned:
        face.learn()
    monkeypatch.setattr(face.engine["policy"], "send", lambda event: None)
    face.controller.last_checkpoint_timer.setInterval(0)
    face.stop()
    assert texts(face)[1].startswith(LOST_TRAINING if learned else "Everything was saved.")


def test_a_checkpoint_that_reaches_the_disk_while_the_window_closes_is_not_called_lost(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    face.learn()
    begun, may_continue, save = threading.Event(), threading.Event(), Session.save

    def slow(session: Session, number: int, states: Any) -> None:
        begun.set()
        assert may_continue.wait(60)
        save(session, number, states)

    monkeypatch.setattr(Session, "save", slow)
    face.controller.state_changed.connect(lambda state: may_continue.set() if state == State.STOPPED else None)
    face.controller.exit_timer.setInterval(60_000)
    with face.wait_signal(face.window.closed):
        face.window.close()
        face.wait_until(begun.is_set)
        face.controller.exit_timer.setInterval(0)
    assert numbers(face)["policy"] == 1 and face.controller.abandoned == ""
