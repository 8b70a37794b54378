"""Pairs that are put to the person again: when, to whom, and what their answers count for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.keys.commands import Command
from core.config import QueryConfig
from core.errors import UserError
from core.events import PreferenceAdded, PreferenceWithdrawn
from core.preferences.records import PreferenceSummary
from core.preferences.review import Repeats, repeatable
from core.preferences.store import PreferenceStore
from core.session.session import read_config
from core.types import Choice, Preference, Query, Teacher
from tests.app.fakes import Face, make_query
from tests.app.history_page_driver import MIXED, page_of, stored

SOON: dict[str, Any] = {"query__repeats": "on", "query__repeat_share": 0.5, "query__repeat_after": 2}
"""A repeat beside each pair that is offered, of an answer from before the last two."""


def row(key: int, **values: Any) -> PreferenceSummary:
    return PreferenceSummary(**{"id": key, "choice": Choice.LEFT, "labeller": "human", "answered_at": 0.0, **values})


def test_only_what_a_person_said_long_enough_ago_may_come_again() -> None:
    rows = [
        row(1),
        row(2, labeller="oracle"),
        row(3, choice=Choice.CANT_TELL),
        row(4, withdrawn=True),
        row(5),
        row(6, choice=None, trouble="damaged"),
        row(7, repeats=5),
        row(8, choice=Choice.TIE),
        row(9),
        row(10),
    ]
    assert repeatable(rows, 2, "human") == [1, 8]
    assert repeatable(rows, 7, "human") == [1]
    assert repeatable(rows, 9, "human") == []
    assert repeatable(rows, 2, "oracle") == [2]


def test_one_pair_in_twenty_comes_again_and_none_while_it_is_off() -> None:
    repeats = Repeats(QueryConfig(repeats="on"), "human", np.random.default_rng(0))
    due = sum(repeats.due() for _ in range(19_000))
    assert due / (19_000 + due) == pytest.approx(0.05, abs=0.005)
    repeats.on = False
    assert not any(repeats.due() for _ in range(1000))
    assert not Repeats(QueryConfig(), "human", np.random.default_rng(0)).on


def test_none_is_picked_twice() -> None:
    repeats = Repeats(QueryConfig(repeats="on", repeat_after=1), "human", np.random.default_rng(0))
    rows = [row(key) for key in range(1, 5)]
    assert sorted(key for _ in range(3) if (key := repeats.pick(rows))) == [1, 2, 3]
    assert repeats.pick(rows) is None


def test_left_and_right_are_swapped_half_of_the_time() -> None:
    repeats = Repeats(QueryConfig(repeats="on"), "human", np.random.default_rng(0))
    first = Preference(7, make_query(), Choice.LEFT, "human", 0.0)
    swapped = [repeats.again(first).left is first.query.right for _ in range(400)]
    assert 160 < sum(swapped) < 240
    assert repeats.again(first).repeats == 7


def awaited(face: Face) -> Query:
    """What is to be answered, once there is something: an answered pair too stays on screen while it flashes."""
    face.qtbot.waitUntil(lambda: face.labelling.pairs.shown is not None)
    assert face.query is not None
    return face.query


def answered(face: Face, key: Qt.Key) -> Query:
    """Answers what is to be answered by a key, and waits until it is kept. Returns what was answered."""
    query = awaited(face)
    with face.qtbot.waitSignal(face.labelling.answer_kept):
        face.press(key)
    return query


def with_a_repeat(opened: Callable[..., Face], **changes: Any) -> Face:
    """A window that shows a repeat of answer 1, 2 or 3."""
    face = opened(MIXED[:3] + [(Choice.LEFT, "human")] * 2, **{**SOON, **changes})
    face.offer(make_query(), make_query())
    while awaited(face).repeats is None:
        answered(face, Qt.Key.Key_Left)
    return face


def test_a_repeat_is_kept_but_is_no_label_and_no_job_hears_of_it(
    opened: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = with_a_repeat(opened)
    heard = labels = face.controller.progress.labels
    query = answered(face, Qt.Key.Key_Up)
    assert query.repeats in (1, 2, 3)
    assert face.controller.progress.labels == labels == len(face.answers())
    with closing(face.controller.session.store()) as store:
        (newest,) = store.rows()[-1:]
    assert (newest.repeats, newest.choice, newest.labeller) == (query.repeats, Choice.TIE, "human")
    assert set(newest.sides) == {s.id for s in (query.left, query.right)}
    face.offer(make_query())
    while awaited(face).repeats is not None:
        answered(face, Qt.Key.Key_Up)
    answered(face, Qt.Key.Key_Left)  # which the jobs hear of after whatever came before
    for name in ("reward", "rollout"):
        process = face.engine[name]
        qtbot.waitUntil(lambda process=process: len(process.got(PreferenceAdded)) == heard + 1)
        assert all(event.preference.query.repeats is None for event in process.got(PreferenceAdded))


def test_undo_takes_a_repeat_back_and_brings_it_up_again(
    opened: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = with_a_repeat(opened)
    labels = face.controller.progress.labels
    query = answered(face, Qt.Key.Key_Left)
    with qtbot.waitSignal(face.labelling.answer_withdrawn):
        face.press(Qt.Key.Key_Backspace)
    assert face.query is query
    assert face.controller.progress.labels == labels
    answered(face, Qt.Key.Key_Right)
    with closing(face.controller.session.store()) as store:
        assert [(r.repeats, r.withdrawn) for r in store.rows()[-2:]] == [(query.repeats, True), (query.repeats, False)]
    assert not face.engine["reward"].got(PreferenceWithdrawn)


def test_redo_gives_a_repeat_again_and_it_is_no_label_still(
    opened: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = with_a_repeat(opened)
    labels = face.controller.progress.labels
    answered(face, Qt.Key.Key_Left)
    with qtbot.waitSignal(face.labelling.answer_withdrawn):
        face.press(Qt.Key.Key_Backspace)
    heard = len(face.engine["reward"].got(PreferenceAdded))
    with qtbot.waitSignal(face.labelling.answer_kept):
        face.press(Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
    with closing(face.controller.session.store()) as store:
        (newest,) = store.rows()[-1:]
    assert newest.repeats and not newest.withdrawn
    assert face.controller.progress.labels == labels == len(face.answers())
    assert len(face.engine["reward"].got(PreferenceAdded)) == heard


@pytest.mark.parametrize("error", [UserError("The disk can't be read: look after it."), RuntimeError("unforeseen")])
def test_a_pair_is_answered_once_even_if_no_repeat_can_be_found_meanwhile(
    opened: Callable[..., Face],
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    face = opened(MIXED, **SOON)
    looking, reached, adding = threading.Event(), threading.Event(), threading.Event()
    add = PreferenceStore.add

    def spoiled(store: PreferenceStore) -> list[PreferenceSummary]:
        looking.wait(5)
        raise error

    def slow(store: PreferenceStore, query: Query, choice: Choice, labeller: str) -> Preference:
        reached.set()
        adding.wait(5)
        return add(store, query, choice, labeller)

    monkeypatch.setattr(PreferenceStore, "rows", spoiled)
    monkeypatch.setattr(PreferenceStore, "add", slow)
    first, second = make_query(), make_query()
    face.offer(first, second)
    qtbot.waitUntil(lambda: face.labelling.pairs.ready)
    face.press(Qt.Key.Key_Left)
    looking.set()
    qtbot.waitUntil(reached.is_set)
    QCoreApplication.processEvents()  # whatever the failed search tells has come
    face.press(Qt.Key.Key_Right)
    adding.set()
    qtbot.waitUntil(lambda: face.query is second)
    assert [(a.query.id, a.choice) for a in face.answers()[6:]] == [(first.id, Choice.LEFT)]


def test_no_repeat_is_put_to_the_oracle(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = with_a_repeat(opened)
    query = face.query
    face.labelling.set_teacher(Teacher.ORACLE)
    qtbot.waitUntil(lambda: face.labelling.pairs.shown is None or face.labelling.pairs.shown.query is not query)
    with closing(face.controller.session.store()) as store:
        assert all(r.repeats is None for r in store.rows())


def test_a_restarted_session_gives_the_jobs_no_repeat(
    opened: Callable[..., Face],
    open_face: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = with_a_repeat(opened)
    answered(face, Qt.Key.Key_Left)
    labels = face.controller.progress.labels
    face.close()
    again = open_face(face.folder)
    qtbot.waitUntil(lambda: again.controller.progress.labels == labels)
    process = again.engine["reward"]
    qtbot.waitUntil(lambda: len(process.got(PreferenceAdded)) == labels)


def test_the_switch_works_at_once_and_outlives_the_session(
    opened: Callable[..., Face],
    open_face: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = opened(MIXED)
    switch = face.window.commands[Command.REPEATS]
    assert not switch.isChecked() and not face.labelling.repeats.on
    switch.trigger()
    assert face.labelling.repeats.on
    qtbot.waitUntil(lambda: "shown again" in face.window.banner.text.text())
    assert read_config(face.folder).query.repeats == "on"
    face.close()
    again = open_face(face.folder)
    assert again.window.commands[Command.REPEATS].isChecked() and again.labelling.repeats.on
    again.window.commands[Command.REPEATS].trigger()
    qtbot.waitUntil(lambda: read_config(face.folder).query.repeats == "off")
    assert not again.labelling.repeats.on


def test_the_figure_is_shown_with_its_count_and_what_it_means(
    opened: Callable[..., Face],
    qtbot: QtBot,
    picture: Callable[[QWidget, str], None],
) -> None:
    face = opened([(Choice.LEFT, Teacher.HUMAN)] * 10)
    with closing(face.controller.session.store()) as store:
        for key in range(1, 10):
            pair = stored(face, key).preference.query
            again = Query(pair.id, pair.right, pair.left, 0.1, None, key)  # swapped, so right is the same
            store.add(again, Choice.RIGHT if key < 8 else Choice.TIE if key < 9 else Choice.CANT_TELL, Teacher.HUMAN)
    page = page_of(face)
    qtbot.waitUntil(lambda: page.consistency.figure.text() == "88% the same (7 of 8)")
    told = page.consistency.comment.text()
    assert "assumes 10% random answers" in told and "that fits" in told
    assert "1 more with “can't tell” are left out" in told
    picture(page, "history-consistency")
