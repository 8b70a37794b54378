"""Checkpoints that fail, come late or lack a stage that failed: the session goes on, and stops, all the same."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.session.controller import State
from core.errors import UserError
from core.events import (
    Event,
    StateRequested,
    StateSaved,
)
from core.session.session import Session
from tests.app.fakes import Face
from tests.app.faulty import ERRORS, FULL, Error, numbers


@pytest.mark.parametrize("error", [*ERRORS, FULL])
def test_a_checkpoint_that_fails_stops_nothing_and_the_next_is_tried(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, error: Error
) -> None:
    def failing(*_: Any) -> None:
        raise error[0](*error[1])

    with monkeypatch.context() as patch:
        patch.setattr(Session, "save", failing)
        face.controller.checkpointer.request()
        qtbot.waitUntil(lambda: face.window.banner.isVisible())
    assert face.controller.state == State.RUNNING and not face.window.banner.shows_failure
    assert "checkpoint" in face.window.banner.text.text()
    face.controller.checkpointer.request()
    qtbot.waitUntil(lambda: face.controller.checkpointer.saved_at is not None)


def test_checkpoints_that_fail_one_after_the_other_are_told_of_once_until_one_is_saved(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints, told = face.controller.checkpointer, list[str]()
    face.controller.trouble_arose.connect(told.append)

    def failing(session: Session, number: int, states: Any) -> None:
        raise UserError(f"Checkpoint {number} can't be written: bring the folder back.")

    for expected in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(Session, "save", failing)
            for _ in range(3):
                with qtbot.waitSignal(checkpoints.refused):
                    checkpoints.request()
        assert len(told) == expected
        with qtbot.waitSignal(checkpoints.saved):
            checkpoints.request()


def test_stopping_ends_even_when_the_last_checkpoint_fails(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise UserError("The checkpoint can't be written: make room.")

    monkeypatch.setattr(Session, "save", failing)
    with qtbot.waitSignal(face.controller.stopped):
        face.window.stop_action.trigger()


def test_stopping_waits_for_its_own_checkpoint_and_not_for_the_one_before(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    controller, policy = face.controller, face.engine["policy"]
    begun, go_on, held = threading.Event(), threading.Event(), list[Event]()
    save, play = Session.save, policy.play

    def slow(session: Session, number: int, states: Any) -> None:
        begun.set()
        assert go_on.wait(5)
        save(session, number, states)

    def hold_the_second(event: Event) -> None:
        held.append(event) if isinstance(event, StateSaved) and event.number == 2 else play(event)

    monkeypatch.setattr(Session, "save", slow)
    monkeypatch.setattr(policy, "play", hold_the_second)
    controller._last_checkpoint.setInterval(60_000)
    controller.checkpointer.request()
    qtbot.waitUntil(begun.is_set)
    face.window.stop_action.trigger()
    qtbot.waitUntil(lambda: len(held) == 1)
    with caplog.at_level("INFO"), qtbot.waitSignal(controller.checkpointer.saved) as saved:
        go_on.set()
    assert saved.args == [1] and caplog.messages == ["checkpoint 1"]
    with qtbot.waitSignal(controller.stopped):
        play(held[0])
    assert numbers(face) == {"rollout": 2, "reward": 2, "policy": 2}


def test_a_state_that_comes_too_late_is_no_part_of_a_checkpoint(face: Face, qtbot: QtBot) -> None:
    face.engine["policy"].play(StateSaved("policy", 77, None))  # type: ignore[arg-type]
    face.controller.checkpointer.request()
    qtbot.waitUntil(lambda: face.controller.checkpointer.saved_at is not None)


@pytest.mark.parametrize(
    ("failing", "wanted"),
    [
        ("reward", {"rollout": 2, "reward": 1, "policy": 2}),
        ("policy", {"rollout": 1, "reward": 2, "policy": 1}),
        ("rollout", {"rollout": 1, "reward": 2, "policy": 1}),
        ("clips", {"rollout": 2, "reward": 2, "policy": 2}),
    ],
)
def test_what_the_other_stages_have_learned_is_saved_when_one_fails(
    face: Face, qtbot: QtBot, failing: str, wanted: dict[str, int]
) -> None:
    checkpoints = face.controller.checkpointer
    with qtbot.waitSignal(checkpoints.saved):
        checkpoints.request()
    with qtbot.waitSignal(checkpoints.saved):
        face.engine[failing].die()
    assert face.controller.state == State.FAILED
    assert numbers(face) == wanted


def test_a_stage_that_fails_before_anything_was_saved_leaves_no_half_a_checkpoint(face: Face, qtbot: QtBot) -> None:
    with qtbot.waitSignal(face.controller.job_failed):
        face.engine["reward"].die()
    assert not face.engine["policy"].got(StateRequested)
    assert face.controller.session.load() is None
