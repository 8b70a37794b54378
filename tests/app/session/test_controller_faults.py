"""Faults put in wherever the window depends on a disk, a child or a pipe: no answer lost, no hang, one sentence."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.labelling.labelling import HUMAN, ORACLE
from app.session.controller import State
from core.events import (
    AnswersReplayed,
    ClipsRequested,
    Event,
    Paused,
    PolicyPublished,
    PreferenceAdded,
    PreferenceWithdrawn,
    RewardPublished,
    RolloutBatchReady,
    StateRequested,
)
from core.preferences.store import PreferenceStore
from core.session.routing import DRIVER, ROUTES, SNAPSHOTS
from tests.app.fakes import Face, FakeProcess, make_query
from tests.app.faulty import ERRORS, FULL, Error, press_restart
from tests.app.yielded import events

OPENED = [index for index, (_, event) in enumerate(events()) if {DRIVER, SNAPSHOTS} & set(ROUTES[type(event)])]
"""Events that the window's process decodes; it only forwards the others."""


@pytest.mark.parametrize("index", OPENED, ids=[type(events()[index][1]).__name__ for index in OPENED])
def test_a_worker_that_cannot_read_an_event_is_told_of_and_started_again(face: Face, qtbot: QtBot, index: int) -> None:
    name, event = events()[index]
    first = make_query()
    face.offer(first, make_query())
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: len(face.answers()) == 1)
    face.engine[name].unreadable = event
    face.engine[name].play(event)
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    text = face.window.banner.text.text()
    assert "as injected" in text and f"The {name} stage stopped" in text and "\n" not in text
    press_restart(face)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    assert [a.query.id for a in face.answers()] == [first.id]


SENDINGS = [
    ("rollout", PolicyPublished),
    ("reward", PolicyPublished),
    ("policy", RolloutBatchReady),
    ("rollout", RewardPublished),
    ("rollout", PreferenceAdded),
    ("reward", PreferenceAdded),
    ("reward", PreferenceWithdrawn),
    ("clips", ClipsRequested),
    ("rollout", Paused),
    ("policy", StateRequested),
]


def cause(face: Face, kind: type[Event]) -> None:
    """Brings it about that an event of this kind is sent."""
    if kind is PreferenceAdded:
        face.press(Qt.Key.Key_Left)
    elif kind is PreferenceWithdrawn:
        face.press(Qt.Key.Key_Backspace)
    elif kind is ClipsRequested:
        face.engine.offer(*[make_query() for _ in range(3)])
    elif kind is Paused:
        face.controller.pause(True)
    elif kind is StateRequested:
        face.controller.checkpoints.request()
    else:
        name, event = next((n, e) for n, e in events() if isinstance(e, kind))
        face.engine[name].play(event)


@pytest.mark.parametrize("error", ERRORS, ids=["no room", "no GPU memory", "no memory"])
@pytest.mark.parametrize(("target", "kind"), SENDINGS, ids=[f"{k.__name__} to {t}" for t, k in SENDINGS])
def test_a_stage_that_cannot_be_given_something_is_started_again_instead_of_waiting_for_ever(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, target: str, kind: type[Event], error: Error
) -> None:
    queries = [make_query() for _ in range(4)]
    face.offer(*queries)
    face.press(Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: face.query is queries[1])
    send = FakeProcess.send

    def failing(process: FakeProcess, event: Event) -> None:
        if isinstance(event, kind):
            raise error[0](*error[1])
        send(process, event)

    broken = face.engine[target]
    monkeypatch.setattr(broken, "send", failing.__get__(broken))
    cause(face, kind)
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    assert f"The {target} stage stopped" in face.window.banner.text.text()
    kept = len(face.answers())
    assert kept == {PreferenceAdded: 2, PreferenceWithdrawn: 0}.get(kind, 1)  # on disk, whatever became of the stage
    press_restart(face)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    assert face.engine[target] is not broken
    for name in {target} & {"rollout", "reward"}:  # the new one gets every answer, that one too
        qtbot.waitUntil(lambda name=name: len(face.engine[name].got(AnswersReplayed)) == 1)
        assert len(face.engine[name].got(PreferenceAdded)) == kept
    if kind is PreferenceWithdrawn:
        qtbot.waitUntil(lambda: face.query is queries[0])
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: len(face.answers()) == kept + 1)


@pytest.mark.parametrize("error", [*ERRORS, FULL])
@pytest.mark.parametrize("what", ["add", "undo"])
def test_whatever_the_store_raises_the_answer_can_be_given_again(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, what: str, error: Error
) -> None:
    first, second = make_query(), make_query()
    face.offer(first, second)

    def failing(*_: Any) -> None:
        raise error[0](*error[1])

    with monkeypatch.context() as patch:
        patch.setattr(PreferenceStore, what, failing)
        face.press(Qt.Key.Key_Left if what == "add" else Qt.Key.Key_Backspace)
        qtbot.waitUntil(lambda: bool(face.window.banner.text.text()))
    assert face.query is first and face.window.clips.flashed is None
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: face.query is second)


def test_what_is_told_stays_while_the_oracle_answers_and_goes_with_the_persons_next_answer(
    face: Face, qtbot: QtBot
) -> None:
    face.controller.trouble_arose.emit("The film was not written.")
    face.labelling.set_teacher(ORACLE)
    face.offer(make_query(), make_query())
    qtbot.waitUntil(lambda: [answer.labeller for answer in face.answers()] == ["oracle"] * 2)
    assert face.window.banner.isVisible()
    face.labelling.set_teacher(HUMAN)
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: not face.window.banner.isVisible())
