"""Pairs that compare the policies from before and after a finish: their line, their tally and the advice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.events import FinishRequested
from core.preferences.schedule import DONE, FINISHED
from core.types import Choice, Teacher
from tests.app.fakes import Face, make_query
from tests.app.finish_driver import (
    AFTER,
    BEFORE,
    act,
    compare,
    comparison,
    finish,
    held,
    hold_saves,
    line,
    offered,
    possible,
    restored,
    undo,
    wait,
)


@pytest.fixture
def face(open_face: Callable[..., Face]) -> Face:
    return held(open_face)


def test_answers_preferring_the_earlier_policy_recommend_an_undo(face: Face) -> None:
    face.window.resize(1280, 720)
    face.wait_until(lambda: face.window.width() == 1280)
    finish(face)
    act(face, AFTER)
    compare(face, Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Left)
    button = face.window.training_line.undo_finish
    assert face.window.training_line.text.text() == "The earlier policy was preferred in 3 of 5 pairs: undo the finish."
    face.window.refresh()
    assert button.property("advised")
    face.wait_until(lambda: not face.window.training_line.text.elided)
    assert offered(face) and "answer some more pairs" in face.window.training_line.text.toolTip()
    undo(face)
    assert len(face.answers()) == 5 and restored(face)


def test_answers_hardly_preferring_the_earlier_policy_only_enable_the_command(face: Face) -> None:
    """The result stays on screen until the next answer."""
    finish(face)
    act(face, AFTER)
    compare(face, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Down)
    text = "The finished policy was preferred in 1 of 4 pairs, the earlier one in 2."
    assert line(face) == text and not face.window.training_line.text.elided
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: len(face.answers()) == 5)
    assert line(face) == "Training is running." and not offered(face) and possible(face)


def test_a_withdrawn_answer_does_not_count_in_the_comparison(face: Face) -> None:
    finish(face)
    act(face, AFTER)
    compare(face, Qt.Key.Key_Left, Qt.Key.Key_Left)
    assert line(face).startswith("The earlier policy was preferred in 2 of 2 pairs")
    face.press(Qt.Key.Key_Backspace)
    face.wait_until(lambda: face.query.comparison is not None)
    assert line(face).startswith("Pairs left: 1. ")
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: face.query.comparison is None)
    assert line(face) == "The finished policy was preferred in 1 of 2 pairs, the earlier one in 1."


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("key", "steps"), [(Qt.Key.Key_Left, BEFORE), (Qt.Key.Key_Right, AFTER)])
def test_a_second_finish_is_undone_alone_unless_the_first_one_made_the_policy_worse(
    face: Face, key: Qt.Key, steps: int
) -> None:
    finish(face)
    act(face, AFTER)
    compare(face, key, key)
    QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
    face.wait_until(lambda: len(face.engine["rollout"].got(FinishRequested)) == 2)
    face.window.refresh()
    undo(face)
    assert face.engine["rollout"].spec.state.values["env_steps"] == steps


def test_a_pair_of_an_earlier_finish_does_not_count_for_the_next_one(face: Face) -> None:
    finish(face)
    act(face, AFTER)
    _, old = face.offer(make_query(), comparison(1))
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is old)
    assert line(face).startswith("Pairs left: 1. ")
    finish(face)
    assert line(face).startswith("Training is finished.")
    (new,) = face.offer(comparison(2))
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is new)
    assert line(face).startswith("Pairs left: 2. ") and face.controller.course.comparison.preferred is None


def test_an_old_pair_shown_after_the_next_finish_began_does_not_count(face: Face) -> None:
    """The second finish begins while the answered pair is still marked and no pair can be answered."""
    finish(face)
    act(face, AFTER)
    _, old, following = face.offer(comparison(2), comparison(1), make_query())
    with face.wait_signal(face.labelling.answer_kept):
        face.press(Qt.Key.Key_Left)
    assert face.labelling.pairs.shown is None
    finish(face)
    face.wait_until(lambda: face.query is old)
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is following)
    assert face.controller.course.comparison.preferred is None
    (new,) = face.offer(comparison(1))
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is new)
    with face.wait_signal(face.labelling.answer_kept):
        face.press(Qt.Key.Key_Left)
    assert face.controller.course.comparison.preferred == (1, 0, 1)


def test_an_old_pair_offered_before_the_next_finish_began_does_not_count(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rollout offers the pair before it receives the finish, whose checkpoint is not yet on disk."""
    finish(face)
    act(face, AFTER)
    compare(face, Qt.Key.Key_Left, Qt.Key.Key_Right)
    saves = hold_saves(monkeypatch)
    QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
    old, following = face.offer(comparison(1), make_query())
    saves.set()
    face.wait_until(lambda: len(face.engine["rollout"].got(FinishRequested)) == 2)
    for shown in (face.query, old):
        face.wait_until(lambda shown=shown: face.query is shown)
        face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is following)
    assert face.controller.course.comparison.preferred is None


def test_an_answer_changed_in_the_history_counts_with_its_new_choice(face: Face) -> None:
    finish(face)
    act(face, AFTER)
    compare(face, Qt.Key.Key_Left, Qt.Key.Key_Left)
    for answer in face.answers():
        with face.wait_signal(face.labelling.preference_writer.answer_changed):
            face.labelling.preference_writer.change(answer.id, Choice.RIGHT, Teacher.HUMAN)
    assert line(face) == "The finished policy was preferred in 2 of 2 pairs, the earlier one in 0."


@pytest.mark.slow_after_first
@pytest.mark.parametrize("reason", [FINISHED, DONE])
def test_comparisons_are_marked_after_the_last_step_of_a_session(face: Face, reason: str) -> None:
    finish(face)
    face.offer(make_query(), comparison(1), make_query())
    face.press(Qt.Key.Key_Down)
    face.wait_until(lambda: face.query.comparison is not None)
    wait(face, reason)
    assert line(face).startswith("Pairs left: 1. ")
