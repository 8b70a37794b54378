"""Undo and redo: without limit, in order, and across a restart of the program."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt

from app.keys.commands import Command
from core.events import AnswersReplayed, PreferenceAdded, PreferenceWithdrawn
from core.service_events import ClipsRequested
from core.types import Choice, Query
from tests.app.fakes import Face, make_query
from tests.app.tape import flashed

KEYS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Up)
CHOICES = [Choice.LEFT, Choice.RIGHT, Choice.TIE, Choice.CANT_TELL, Choice.LEFT, Choice.TIE]
CTRL = Qt.KeyboardModifier.ControlModifier


def answered(face: Face, count: int) -> list[Query]:
    """Give `count` answers with different keys, so that one more pair is on screen; return the queries."""
    queries = face.offer(*[make_query() for _ in range(count + 1)])
    for key, following in zip(KEYS[:count], queries[1:], strict=True):
        face.press(key)
        face.wait_until(lambda following=following: face.query is following)
    return queries


def enabled(face: Face) -> tuple[bool, bool]:
    """Return whether Undo and Redo are enabled in the menu; the button below the clips follows the menu."""
    undo, redo = (face.window.commands[command].isEnabled() for command in (Command.UNDO, Command.REDO))
    assert face.window.key_hints.buttons[Command.UNDO].isEnabled() == undo
    return undo, redo


def undo(face: Face) -> None:
    before = face.controller.progress.labels
    face.press(Qt.Key.Key_Z, CTRL)
    face.wait_until(lambda: face.controller.progress.labels == before - 1)


def redo(face: Face) -> None:
    before = face.controller.progress.labels
    face.press(Qt.Key.Key_Y, CTRL)
    face.wait_until(lambda: face.controller.progress.labels == before + 1)


def test_every_undone_answer_can_be_redone_with_its_choice_and_the_jobs_get_both(face: Face) -> None:
    assert enabled(face) == (False, False)
    face.press(Qt.Key.Key_Z, CTRL)
    face.press(Qt.Key.Key_Z, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert face.labelling.idle
    queries = answered(face, 6)
    given = face.answers()
    for query in reversed(queries[:6]):
        undo(face)
        face.wait_until(lambda query=query: face.query is not None and face.query.id == query.id)
    assert face.answers() == []
    face.wait_until(lambda: enabled(face) == (False, True))
    for following in queries[1:]:
        redo(face)
        face.wait_until(lambda following=following: face.query is not None and face.query.id == following.id)
    again = face.answers()
    assert [(a.id, a.query.id, a.choice, a.answered_at) for a in again] == [
        (g.id, g.query.id, g.choice, g.answered_at) for g in given
    ]
    assert [a.choice for a in again] == CHOICES
    for name in ("reward", "rollout"):
        process, ids = face.engine[name], [a.id for a in given]
        face.wait_until(lambda process=process: len(process.got(PreferenceAdded)) == 12)
        assert [event.preference_id for event in process.got(PreferenceWithdrawn)] == ids[::-1]
        assert [event.preference.id for event in process.got(PreferenceAdded)] == ids * 2


def test_keys_pressed_while_the_disk_is_busy_all_count(face: Face) -> None:
    queries = answered(face, 3)
    for key in (Qt.Key.Key_Z, Qt.Key.Key_Z, Qt.Key.Key_Y, Qt.Key.Key_Z, Qt.Key.Key_Z, Qt.Key.Key_Y):
        face.press(key, CTRL)
    face.wait_until(lambda: face.labelling.idle)
    assert [a.choice for a in face.answers()] == CHOICES[:1]
    face.wait_until(lambda: face.query is not None and face.query.id == queries[1].id)


def test_a_new_answer_clears_the_redo_history(face: Face) -> None:
    queries = answered(face, 2)
    undo(face)
    face.press(Qt.Key.Key_Down)
    face.wait_until(lambda: face.query is queries[2])
    face.wait_until(lambda: enabled(face) == (True, False))
    face.press(Qt.Key.Key_Y, CTRL)
    assert face.labelling.idle
    assert [a.choice for a in face.answers()] == [Choice.LEFT, Choice.CANT_TELL]


def test_the_last_two_pairs_return_with_their_clips_and_earlier_ones_are_rendered_again(face: Face) -> None:
    queries = answered(face, 3)
    for query, requested in zip(reversed(queries[:3]), (4, 4, 5), strict=True):
        undo(face)
        face.wait_until(lambda query=query: face.query is not None and face.query.id == query.id)
        assert len(face.engine["clips"].got(ClipsRequested)) == requested


def test_redo_after_a_restart_leaves_the_pair_on_screen_alone(open_face: Callable[..., Face]) -> None:
    face = open_face()
    answered(face, 3)
    undo(face)
    undo(face)
    face.close()
    again = open_face()
    other = make_query()
    again.offer(other)
    face.wait_until(lambda: again.controller.progress.labels == 1)
    redo(again)
    assert again.query is other and flashed(again.window.clips) is None
    assert "“Right is better”" in again.window.statusBar().currentMessage()
    redo(again)
    assert [a.choice for a in again.answers()] == CHOICES[:3]
    again.press(Qt.Key.Key_Left)
    face.wait_until(lambda: len(again.answers()) == 4)


def test_every_undone_pair_is_asked_again_after_a_restart_of_the_rollout(face: Face) -> None:
    queries = answered(face, 2)
    for query in reversed(queries[:2]):
        undo(face)
        face.wait_until(lambda query=query: face.query is query)
    face.die("rollout")
    face.restart()
    face.wait_until(lambda: bool(face.engine["rollout"].got(AnswersReplayed)))
    (replayed,) = face.engine["rollout"].got(AnswersReplayed)
    assert sorted(query.id for query in replayed.waiting) == sorted(query.id for query in queries[:2])
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is queries[1])
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: len(face.answers()) == 2)


def test_answers_of_an_earlier_run_can_be_undone_redone_and_changed(open_face: Callable[..., Face]) -> None:
    face = open_face()
    answered(face, 3)
    face.close()
    again = open_face()
    face.wait_until(lambda: again.controller.progress.labels == 3)
    for _ in range(3):
        undo(again)
    for _ in range(2):
        redo(again)
    undo(again)
    face.wait_until(lambda: again.query is not None)
    again.press(Qt.Key.Key_Down)
    face.wait_until(lambda: again.controller.progress.labels == 2)
    assert [a.choice for a in again.answers()] == [CHOICES[0], Choice.CANT_TELL]
