"""Finishes of a training that answers drive: what tests play, press and look at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.keys.commands import Command
from app.session.controller import State
from app.session.metrics_recorder import PREDICTED
from core.events import PolicyPublished, Waited
from core.preferences.schedule import FINISHED, HOLDS
from core.session.session import Session
from core.types import PolicyComparison, Query
from tests.app.fakes import DRIVEN, Face, make_query
from tests.app.tape import report

BEFORE, AFTER = 20_000, 30_000
WEIGHTS = {"weight": np.ones(3, np.float32)}


def act(face: Face, env_steps: int, finishing: float | None = None) -> None:
    """Let the jobs report a batch and publish a policy; checkpoints contain these numbers."""
    face.engine["rollout"].values = {"env_steps": env_steps}
    face.engine["rollout"].play(report(env_steps, finishing=finishing))
    face.engine["policy"].play(PolicyPublished(env_steps // 1000, WEIGHTS, env_steps))
    face.wait_until(lambda: face.controller.progress.env_steps == env_steps)
    face.wait_until(lambda: env_steps in snapshots(face))


def snapshots(face: Face) -> list[int]:
    """Return the environment steps of the policies on the slider."""
    return [info.env_steps for info in face.controller.policy_history.snapshots]


def wait(face: Face, reason: str) -> None:
    face.engine["rollout"].play(Waited("rollout", reason))
    face.wait_until(lambda: reason in face.controller.waits.values())
    face.window.refresh()


def held(open_face: Callable[..., Face]) -> Face:
    """Return a window whose training has had two answers and waits for the next one."""
    face = open_face(**DRIVEN)
    face.controller.progress.counted(2)
    for env_steps in (10_000, BEFORE):
        act(face, env_steps)
    wait(face, HOLDS)
    return face


def finish(face: Face) -> None:
    """Finish training, and wait until the finish is over and saved."""
    checkpointer = face.controller.checkpointer
    with face.wait_signal(checkpointer.saved):
        QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
    act(face, 25_000, 0.5)
    act(face, AFTER, 1.0)
    wait(face, FINISHED)
    with face.wait_signal(checkpointer.saved):
        checkpointer.request()
    face.window.refresh()


def undo(face: Face) -> None:
    QTest.mouseClick(face.window.training_line.undo_finish, Qt.MouseButton.LeftButton)
    face.wait_until(lambda: face.controller.state == State.RUNNING)


def draw_until(face: Face, done: Callable[[], bool]) -> None:
    """Let recordings of the newest policy be drawn until `done` returns True."""

    def drawn() -> bool:
        face.controller.demonstrations.draw_if_due(pair_ready=True)
        return done()

    face.wait_until(drawn)


def offered(face: Face) -> bool:
    """Return whether the button is on screen."""
    face.window.refresh()
    return face.window.training_line.undo_finish.isVisible()


def possible(face: Face) -> bool:
    """Return whether the command can be run, with or without its button on screen."""
    face.window.refresh()
    return face.window.commands[Command.UNDO_FINISH].isEnabled()


def comparison(left_over: int) -> Query:
    """Return a pair with the left clip from before the finish, the right one from after it.

    left_over: number of such pairs to go, including this one
    """
    query = make_query()
    left, right = replace(query.left, env_steps=BEFORE - 1), replace(query.right, env_steps=AFTER)
    return replace(query, left=left, right=right, comparison=PolicyComparison(BEFORE, left_over))


def compare(face: Face, *keys: Qt.Key) -> None:
    """Answer pairs of both policies with these keys; an ordinary pair follows."""
    pairs = face.offer(*(comparison(len(keys) - i) for i in range(len(keys))), make_query())
    text = face.window.training_line.text
    for i, (key, following) in enumerate(zip(keys, pairs[1:], strict=True)):
        left = len(keys) - i
        assert text.text() == f"Pairs left: {left}. The clips are from before and after the finish."
        face.window.refresh()
        assert offered(face) and not face.window.training_line.text.elided
        face.press(key)
        face.wait_until(lambda following=following: face.query is following)


def hold_saves(patch: pytest.MonkeyPatch) -> threading.Event:
    """Let checkpoints wait until this event is set."""
    saves, save = threading.Event(), Session.save

    def save_late(*arguments: object) -> None:
        saves.wait()
        save(*arguments)

    patch.setattr(Session, "save", save_late)
    return saves


def line(face: Face) -> str:
    face.window.training_line.refresh(at_once=True)
    return face.window.training_line.text.text()


def restored(face: Face) -> bool:
    """Return whether the jobs have the states from before the finish and training waits as it did then."""
    names = ("rollout", "reward", "policy")
    before = face.engine["rollout"].spec.state
    assert {face.engine[name].spec.state.values["n"] for name in names} == {before.values["n"]}
    assert before.values["env_steps"] == face.controller.progress.env_steps == BEFORE
    assert face.controller.metrics.snapshot(PREDICTED)[0].tolist() == [10.0, 20.0]
    assert not offered(face) and not possible(face)
    act(face, BEFORE)
    face.wait_until(lambda: snapshots(face)[-1] == BEFORE)
    wait(face, HOLDS)
    return line(face).startswith("Training waits for your next answer.")
