"""Repeated pairs in the window: stored, but neither counted as labels nor sent to any job."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from PySide6.QtCore import Qt

from app.keys.commands import Command
from core.events import PreferenceAdded, PreferenceWithdrawn
from core.session.session import read_config
from core.types import Choice, Query, Teacher
from tests.app.fakes import Face, make_query
from tests.app.history_page_driver import MIXED, page_of

SOON: dict[str, Any] = {"query__repeats": "on", "query__repeat_share": 0.5, "query__repeat_after": 2}
"""A repeat with each pair that is offered, of an answer given before the last two."""


def awaited(face: Face) -> Query:
    """Wait for a pair that can be answered, and return it. An answered pair stays on screen while it flashes."""
    face.wait_until(lambda: face.labelling.pairs.shown is not None)
    return face.query


def answered(face: Face, key: Qt.Key) -> Query:
    """Answer the next pair with a key, wait until the answer is stored, and return the pair."""
    query = awaited(face)
    with face.wait_signal(face.labelling.answer_kept):
        face.press(key)
    return query


def with_a_repeat(opened: Callable[..., Face], **changes: Any) -> Face:
    """Window that shows a repeat of answer 1, 2 or 3."""
    face = opened(MIXED[:3] + [(Choice.LEFT, "human")] * 2, **{**SOON, **changes})
    face.offer(make_query(), make_query())
    while awaited(face).repeats is None:
        answered(face, Qt.Key.Key_Left)
    return face


def test_a_repeat_is_stored_without_counting_as_a_label_or_reaching_a_job(
    opened: Callable[..., Face], open_face: Callable[..., Face]
) -> None:
    face = with_a_repeat(opened)
    heard = labels = face.controller.progress.labels
    query = answered(face, Qt.Key.Key_Up)
    assert query.repeats in (1, 2, 3)
    assert face.controller.progress.labels == labels == len(face.answers())
    with closing(face.controller.session.store()) as store:
        newest = store.answer(store.rows()[-1].id)
    pair = newest.query
    assert (pair.repeats, newest.choice, newest.labeller) == (query.repeats, Choice.TIE, "human")
    assert [pair.left.id, pair.right.id] == [query.left.id, query.right.id]
    face.offer(make_query())
    while awaited(face).repeats is not None:
        answered(face, Qt.Key.Key_Up)
    answered(face, Qt.Key.Key_Left)  # reaches the jobs after everything that was sent before
    for name in ("reward", "rollout"):
        process = face.engine[name]
        face.wait_until(lambda process=process: len(process.got(PreferenceAdded)) == heard + 1)
        assert all(event.preference.query.repeats is None for event in process.got(PreferenceAdded))
    labels = face.controller.progress.labels
    face.close()
    again = open_face(face.folder)
    face.wait_until(lambda: again.controller.progress.labels == labels)
    face.wait_until(lambda: len(again.engine["reward"].got(PreferenceAdded)) == labels)


def test_a_repeat_can_be_undone_redone_and_answered_again_and_is_never_a_label(opened: Callable[..., Face]) -> None:
    face = with_a_repeat(opened)
    labels = face.controller.progress.labels
    query = answered(face, Qt.Key.Key_Left)
    heard = len(face.engine["reward"].got(PreferenceAdded))

    def repeats() -> list[tuple[int | None, bool]]:
        with closing(face.controller.session.store()) as store:
            return [(row.repeats, row.withdrawn) for row in store.rows() if row.repeats]

    for redo in (True, False):
        with face.wait_signal(face.labelling.answer_withdrawn):
            face.press(Qt.Key.Key_Backspace)
        assert face.query is query and repeats() == [(query.repeats, True)]
        if redo:
            with face.wait_signal(face.labelling.answer_kept):
                face.press(Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
            assert repeats() == [(query.repeats, False)]
    answered(face, Qt.Key.Key_Right)
    assert repeats() == [(query.repeats, True), (query.repeats, False)]
    assert face.controller.progress.labels == labels == len(face.answers())
    assert len(face.engine["reward"].got(PreferenceAdded)) == heard
    assert not face.engine["reward"].got(PreferenceWithdrawn)


def test_guests_of_demo_mode_get_no_repeats_of_the_persons_pairs(opened: Callable[..., Face]) -> None:
    face = opened(MIXED[:3] + [(Choice.LEFT, "human")] * 2, **SOON)
    face.press(Qt.Key.Key_F11)
    face.wait_until(lambda: face.labelling.teacher_after_demo is not None)
    for number in range(1, 6):
        face.offer(make_query())
        face.wait_until(lambda number=number: face.labelling.pairs.shown is not None)
        assert face.query.repeats is None
        with face.wait_signal(face.labelling.answer_kept):
            face.labelling.answer(Choice.LEFT)


def test_the_oracle_gets_no_repeats(opened: Callable[..., Face]) -> None:
    face = with_a_repeat(opened)
    query = face.query
    face.labelling.set_teacher(Teacher.ORACLE)
    face.wait_until(lambda: face.labelling.pairs.shown is None or face.labelling.pairs.shown.query is not query)
    with closing(face.controller.session.store()) as store:
        assert all(r.repeats is None for r in store.rows())


def test_switching_repeats_takes_effect_at_once_and_is_remembered(mixed: Face, open_face: Callable[..., Face]) -> None:
    switch = mixed.window.commands[Command.REPEATS]
    assert not switch.isChecked() and not mixed.labelling.repeats.on
    switch.trigger()
    assert mixed.labelling.repeats.on
    mixed.wait_until(lambda: "shown twice" in mixed.window.toast.text())
    assert read_config(mixed.folder).query.repeats == "on"
    mixed.close()
    again = open_face(mixed.folder)
    assert again.window.commands[Command.REPEATS].isChecked() and again.labelling.repeats.on
    again.window.commands[Command.REPEATS].trigger()
    mixed.wait_until(lambda: read_config(mixed.folder).query.repeats == "off")
    assert not again.labelling.repeats.on


def test_self_consistency_is_shown_with_its_count_and_an_explanation(opened: Callable[..., Face]) -> None:
    face = opened([(Choice.LEFT, Teacher.HUMAN)] * 10)
    with closing(face.controller.session.store()) as store:
        for key in range(1, 10):
            pair = store.answer(key).query
            again = Query(pair.id, pair.right, pair.left, 0.1, None, key)  # swapped, so right is the same
            store.add(again, Choice.RIGHT if key < 8 else Choice.TIE if key < 9 else Choice.CANT_TELL, Teacher.HUMAN)
    page = page_of(face)
    face.wait_until(lambda: page.consistency.figure.text() == "88% the same (7 of 8)")
    comment = page.consistency.comment.text()
    assert "If 10% of the answers were given at random" in comment and "this fits" in comment
    assert "1 more with “can't tell” is left out" in comment
