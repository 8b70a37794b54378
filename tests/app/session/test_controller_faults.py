"""Faults of disks, children and pipes: no answer is lost, nothing hangs, and one sentence says what happened."""

from __future__ import annotations

import re
from typing import Any

import pytest
from PySide6.QtCore import Qt

from core.events import (
    AnswersReplayed,
    Event,
    Paused,
    PolicyPublished,
    PreferenceAdded,
    PreferenceWithdrawn,
    RolloutBatchReady,
    StateRequested,
)
from core.preferences.store import PreferenceStore
from core.service_events import ClipsRequested
from core.session.routing import DRIVER, SNAPSHOTS, receivers
from core.types import Preference, Teacher
from tests.app.fakes import ERRORS, FULL, Face, FakeMessage, FakeProcess, make_query
from tests.app.tape import flashed
from tests.app.yielded import events
from tests.core.builders import raising

OPENED = [(name, event) for name, event in events() if {DRIVER, SNAPSHOTS} & set(receivers(type(event)))]
"""Events that the window's process decodes; it only forwards the others."""


def test_a_worker_failing_on_an_event_is_reported_and_restarted(face: Face) -> None:
    first, _ = face.answered()
    for name, event in OPENED:
        face.engine[name].unreadable = event
        face.engine[name].play(event)
        face.wait_until(lambda: face.window.banner.shows_failure)
        text = face.window.banner.text.text()
        assert "as injected" in text and STOPPED[name] in text and "\n" not in text
        face.restart()
        assert [a.query.id for a in face.answers()] == [first.id]


SENDINGS = [
    ("rollout", PolicyPublished),
    ("policy", RolloutBatchReady),
    ("rollout", PreferenceAdded),
    ("reward", PreferenceWithdrawn),
    ("clips", ClipsRequested),
    ("rollout", Paused),
    ("policy", StateRequested),
]
STOPPED = {
    "rollout": "The simulation stopped",
    "reward": "Reward training stopped",
    "policy": "Policy training stopped",
    "clips": "The clip renderer stopped",
}


def cause(face: Face, kind: type[Event]) -> None:
    """Make the program send an event of this kind."""
    if kind in (PreferenceAdded, ClipsRequested):  # after an answer the next pair but one is rendered
        face.press(Qt.Key.Key_Left)
    elif kind is PreferenceWithdrawn:
        face.press(Qt.Key.Key_Backspace)
    elif kind is Paused:
        face.controller.pause(True)
    elif kind is StateRequested:
        face.controller.checkpointer.request()
    else:
        name, event = next((n, e) for n, e in events() if isinstance(e, kind))
        face.engine[name].play(event)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("target", "kind", "error"),
    [(*sending, ERRORS[number % len(ERRORS)]) for number, sending in enumerate(SENDINGS)],
    ids=[f"{k.__name__} to {t}" for t, k in SENDINGS],
)
def test_a_job_is_restarted_with_every_answer_after_a_failed_send(
    face: Face, monkeypatch: pytest.MonkeyPatch, target: str, kind: type[Event], error: Exception
) -> None:
    queries = face.offer(*[make_query() for _ in range(4)])
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: face.query is queries[1] and face.labelling.pairs.ready == 1)  # the third is rendered
    send = FakeProcess.send

    def failing(process: FakeProcess, message: Event | FakeMessage) -> None:
        if isinstance(getattr(message, "event", message), kind):
            raise error
        send(process, message)

    broken = face.engine[target]
    monkeypatch.setattr(broken, "send", failing.__get__(broken))
    cause(face, kind)
    face.wait_until(lambda: face.window.banner.shows_failure)
    text = face.window.banner.text.text()
    assert STOPPED[target] in text and "\n" not in text
    stored = len(face.answers())
    assert stored == {PreferenceAdded: 2, ClipsRequested: 2, PreferenceWithdrawn: 0}.get(kind, 1)  # on disk
    face.wait_until(lambda: face.labelling.pairs.shown is not None)  # a new rollout would offer others
    face.restart()
    assert face.engine[target] is not broken
    for name in {target} & {"rollout", "reward"}:
        face.wait_until(lambda name=name: len(face.engine[name].got(AnswersReplayed)) == 1)
        assert len(face.engine[name].got(PreferenceAdded)) == stored
    if kind is PreferenceWithdrawn:
        face.wait_until(lambda: face.query is queries[0])
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: len(face.answers()) == stored + 1)


@pytest.mark.parametrize("error", [FULL, ERRORS[0]])
def test_an_answer_that_the_store_refuses_can_be_given_again(
    face: Face, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    first, second = face.offer(make_query(), make_query())
    with monkeypatch.context() as patch:
        patch.setattr(PreferenceStore, "add", raising(error))
        face.press(Qt.Key.Key_Left)
        face.wait_until(lambda: bool(face.window.banner.text.text()))
    assert re.match("(The|An) answer (was not|could not be) saved.*: ", face.window.banner.text.text())
    assert face.query is first and flashed(face.window.clips) is None
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is second and not face.window.banner.isVisible())
    assert [answer.query.id for answer in face.answers()] == [first.id]


def test_an_answer_stays_when_the_store_refuses_its_undo(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = face.answered()
    with monkeypatch.context() as patch:
        patch.setattr(PreferenceStore, "undo", raising(ERRORS[1]))
        face.press(Qt.Key.Key_Backspace)
        face.wait_until(lambda: bool(face.window.banner.text.text()))
    assert face.query is second and [answer.query.id for answer in face.answers()] == [first.id]


def test_the_oracle_retries_an_answer_refused_by_the_store(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    face.labelling.oracle_timer.setInterval(0)
    face.labelling.retry_timer.setInterval(0)
    add = PreferenceStore.add
    refusals = iter((FULL, FULL))

    def refuses_twice(store: PreferenceStore, *arguments: Any) -> Preference:
        if error := next(refusals, None):
            raise error
        return add(store, *arguments)

    monkeypatch.setattr(PreferenceStore, "add", refuses_twice)
    face.labelling.set_teacher(Teacher.ORACLE)
    face.offer(make_query(1.0, 0.0))
    face.wait_until(lambda: len(face.answers()) == 1)
    assert face.labelling.teacher == Teacher.ORACLE and next(refusals, None) is None


def test_a_notice_outlasts_the_oracles_answers_and_disappears_with_the_persons_next_one(face: Face) -> None:
    face.controller.trouble_arose.emit("The film was not written.")
    face.labelling.set_teacher(Teacher.ORACLE)
    face.offer(make_query(), make_query())
    face.wait_until(lambda: [answer.labeller for answer in face.answers()] == ["oracle"] * 2)
    assert face.window.banner.isVisible()
    face.labelling.set_teacher(Teacher.HUMAN)
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: not face.window.banner.isVisible())
