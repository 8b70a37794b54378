"""Checkpoints that fail, are late, or lack a job that failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox

from app.session.controller import State
from core.events import Event, FinishRequested, RewardFitted, RewardRequested, StateRequested, StateSaved
from core.session.checkpoint_schedule import CheckpointSchedule
from core.session.session import Session
from tests.app.fakes import ERRORS, FULL, Face, numbers
from tests.app.finish_driver import held
from tests.core.builders import raising


@pytest.mark.parametrize("error", [ERRORS[0], FULL])
def test_failed_checkpoints_are_reported_in_a_banner_until_one_is_saved(
    face: Face, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    checkpointer, bar, reports = face.controller.checkpointer, face.window.unsaved_bar, list[str]()
    face.controller.trouble_arose.connect(reports.append)
    for _ in range(2):
        face.learn()
        with monkeypatch.context() as patch:
            patch.setattr(Session, "save", raising(error))
            for _ in range(2):
                with face.wait_signal(checkpointer.refused):
                    checkpointer.request()
                assert bar.isVisible()
                assert "Training is not being saved;" in bar.text.text() and "checkpoint" in bar.text.text()
        assert face.controller.state == State.RUNNING and not face.window.banner.shows_failure
        with face.wait_signal(checkpointer.saved):
            checkpointer.request()
        assert not bar.isVisible() and reports == []


@pytest.mark.parametrize("paused", [False, True])
def test_a_refused_checkpoint_is_retried_even_while_the_jobs_rest(
    face: Face, monkeypatch: pytest.MonkeyPatch, paused: bool
) -> None:
    checkpointer = face.controller.checkpointer
    checkpointer.retry_timer.setInterval(0)
    checkpointer.schedule = CheckpointSchedule(interval=0)
    with monkeypatch.context() as patch:
        patch.setattr(Session, "save", raising(FULL))
        with face.wait_signal(checkpointer.refused):
            face.learn()
        assert checkpointer.unsaved and face.window.unsaved_bar.isVisible()
        if paused:
            face.controller.pause(True)
        with face.wait_signal(checkpointer.refused):
            pass
    with face.wait_signal(checkpointer.saved):
        pass
    assert not checkpointer.unsaved and not face.window.unsaved_bar.isVisible()


def test_leaving_a_session_with_unsaved_training_asks_first(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "save", raising(FULL))
    face.learn()
    with face.wait_signal(face.controller.checkpointer.refused):
        face.controller.checkpointer.request()
    face.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    box = face.window.findChild(QMessageBox)
    face.wait_until(box.isVisible)
    assert "training since the last checkpoint could not be saved" in box.text()
    assert box.defaultButton().text() == "Cancel" and face.controller.state == State.RUNNING
    (leave,) = [button for button in box.buttons() if "Close anyway" in button.text()]
    with face.wait_signal(face.window.closed):
        QTest.mouseClick(leave, Qt.MouseButton.LeftButton)
    assert face.controller.lost_training


def test_stopping_waits_for_its_own_checkpoint_not_an_earlier_one(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    controller, policy = face.controller, face.engine["policy"]
    begun, may_continue, held = threading.Event(), threading.Event(), list[Event]()
    save, play = Session.save, policy.play

    def slow(session: Session, number: int, states: Any) -> None:
        begun.set()
        assert may_continue.wait(60)
        save(session, number, states)

    def hold_the_second(event: Event) -> None:
        held.append(event) if isinstance(event, StateSaved) and event.number == 2 else play(event)

    monkeypatch.setattr(Session, "save", slow)
    monkeypatch.setattr(policy, "play", hold_the_second)
    controller.last_checkpoint_timer.setInterval(60_000)
    controller.checkpointer.request()
    face.wait_until(begun.is_set)
    face.window.stop_action.trigger()
    face.wait_until(lambda: len(held) == 1)
    with face.wait_signal(controller.checkpointer.saved) as saved:
        may_continue.set()
    assert saved.args == [1]
    with face.wait_signal(controller.stopped):
        play(held[0])
    assert numbers(face) == {"rollout": 2, "reward": 2, "policy": 2}


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        ("reward", {"rollout": 2, "reward": 1, "policy": 2}),
        ("rollout", {"rollout": 1, "reward": 2, "policy": 1}),
        ("clips", {"rollout": 2, "reward": 2, "policy": 2}),
    ],
)
def test_the_progress_of_the_other_jobs_is_saved_when_one_fails(
    face: Face, failing: str, expected: dict[str, int]
) -> None:
    checkpointer = face.controller.checkpointer
    with face.wait_signal(checkpointer.saved):
        checkpointer.request()
    with face.wait_signal(checkpointer.saved):
        face.engine[failing].die()
    assert face.controller.state == State.FAILED
    assert numbers(face) == expected


def test_a_job_that_fails_before_the_first_checkpoint_leaves_no_incomplete_one(face: Face) -> None:
    with face.wait_signal(face.controller.job_failed):
        face.engine["reward"].die()
    assert not face.engine["policy"].got(StateRequested)
    assert "training starts again" in face.window.banner.text.text()
    assert face.controller.session.load() is None


def test_a_checkpoint_follows_the_first_fit_and_only_one_is_in_progress(face: Face) -> None:
    checkpointer = face.controller.checkpointer
    with face.wait_signal(checkpointer.saved):
        for answers in (15, 30, 60):
            face.engine["reward"].play(RewardFitted(answers, (1.0,), (1.0,), (1.0,)))
    assert len(face.engine["policy"].got(StateRequested)) < 3
    assert face.controller.session.load() is not None


def test_a_session_is_on_disk_before_a_log_out_is_confirmed(face: Face) -> None:
    face.controller.checkpointer.save_now(5000)
    assert numbers(face) == {"rollout": 1, "reward": 1, "policy": 1}
    face.controller.checkpointer.save_now(5000)
    assert numbers(face)["policy"] == 2 and face.controller.state == State.RUNNING


def test_a_log_out_that_is_cancelled_does_not_prevent_a_finish(open_face: Callable[..., Face]) -> None:
    face = held(open_face)
    face.controller.finish()  # it begins when the checkpoint before it is on disk
    face.controller.checkpointer.save_now(5000)
    face.wait_until(lambda: len(face.engine["rollout"].got(FinishRequested)) == 1)


@pytest.mark.parametrize(("failing", "requests"), [("rollout", 1), ("policy", 1), ("reward", 0), ("clips", 0)])
def test_a_restarted_rollout_is_sent_the_reward_that_its_checkpoint_may_lack(
    face: Face, failing: str, requests: int
) -> None:
    face.die(failing)
    face.restart()
    face.wait_until(lambda: len(face.engine["reward"].got(RewardRequested)) == requests)
