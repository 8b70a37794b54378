"""The line that describes the state of training, and its two actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from app.windows import training_line
from core.events import FinishRequested, HoldChanged, Waited
from core.preferences.schedule import DONE, FINISHED, HOLDS
from core.types import Choice, Teacher
from tests.app.fakes import DRIVEN, Face, make_query
from tests.app.finish_driver import line
from tests.app.tape import report
from tests.clock import Clock

WAITS = "Training waits for your next answer. If you like what you see, finish the training."
ENDS = ". Your next answer ends this and resumes teaching."


def click(button: QPushButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.fixture
def face(open_face: Callable[..., Face]) -> Face:
    return open_face(**DRIVEN)


def train(face: Face, env_steps: int, predicted: float = 4.0, finishing: float | None = None) -> None:
    face.engine["rollout"].play(report(env_steps, predicted=predicted, finishing=finishing))
    face.wait_until(lambda: face.controller.progress.env_steps == env_steps)


def hold(face: Face, env_steps: int = 1000) -> None:
    """Let training hold after two answers."""
    face.controller.progress.counted(2)
    train(face, env_steps)
    face.engine["rollout"].play(Waited("rollout", HOLDS))
    face.wait_until(lambda: face.controller.course.holding)


def test_the_line_says_what_training_waits_for(face: Face) -> None:
    assert line(face) == "Training starts after the first 2 answers, not counting “can't tell”."
    assert not face.window.training_line.keep.isVisible()
    face.controller.progress.counted(2)
    assert line(face) == "The reward model is learning from your answers."
    train(face, 500)
    assert line(face) == "Training is running."
    hold(face)
    assert line(face) == WAITS
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: line(face) == "Training is running.")


def test_answers_of_the_oracle_end_no_finish(face: Face) -> None:
    face.offer(make_query(), make_query(), make_query())
    face.labelling.set_teacher(Teacher.ORACLE)
    face.wait_until(lambda: len(face.answers()) == 2)  # the first two
    hold(face)
    assert line(face) == "Training waits for the computer's next answer."
    face.wait_until(lambda: face.labelling.oracle_timer.isActive())
    face.controller.finish()
    face.labelling.oracle_timer.setInterval(0)  # for the answer that is already due
    face.wait_until(lambda: not face.labelling.oracle_timer.isActive())
    assert face.controller.course.finishing == 0.0 and len(face.answers()) == 2
    for share in (0.1, 0.9):
        train(face, round(1000 + 10_000 * share), finishing=share)
        face.labelling.wake_oracle()
        assert not face.labelling.oracle_timer.isActive()
    face.engine["rollout"].play(Waited("rollout", FINISHED))
    face.wait_until(lambda: face.controller.course.finished)
    face.labelling.wake_oracle()
    assert not face.labelling.oracle_timer.isActive() and len(face.answers()) == 2


def test_training_can_continue_without_answers_even_after_a_restart(face: Face) -> None:
    hold(face)
    line(face)
    keep = face.window.training_line.keep
    assert keep.text() == "Keep training"
    click(keep)
    assert keep.text() == "Wait for answers"
    face.wait_until(lambda: face.engine["rollout"].got(HoldChanged) == [HoldChanged(False)])
    train(face, 2000)
    assert line(face) == "Training continues without answers."
    face.die("rollout")
    face.restart()
    face.wait_until(lambda: face.engine["rollout"].got(HoldChanged) == [HoldChanged(False)])
    click(keep)
    face.wait_until(lambda: face.engine["rollout"].got(HoldChanged)[-1] == HoldChanged(True))


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("after", "result"), [(6.0, "rose"), (4.0, "did not rise"), (3.0, "did not rise")])
def test_an_answer_ends_a_finish(face: Face, after: float, result: str) -> None:
    hold(face, 20_000)
    line(face)
    click(face.window.training_line.finish)
    face.wait_until(lambda: len(face.engine["rollout"].got(FinishRequested)) == 1)
    assert line(face) == f"Finishing training: 0%{ENDS}"
    train(face, 24_000, 5.0, finishing=0.4)
    assert line(face) == f"Finishing training: 40%{ENDS}"
    train(face, 29_500, after, finishing=0.95)
    face.engine["rollout"].play(Waited("rollout", FINISHED))
    advice = "If the policy got worse, undo the finish."
    face.wait_until(lambda: line(face) == f"Finished: the predicted return {result}. {advice}")
    text = face.window.training_line.text
    assert "begin a new session with the answers of this one" in text.toolTip()
    face.window.resize(1280, 720)
    face.wait_until(lambda: face.window.width() == 1280 and not text.elided)
    assert face.window.training_line.finish.text() == "Finish again"
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: line(face) == "Training is running.")
    assert text.toolTip() == ""


def test_a_finish_lost_in_a_restart_can_be_requested_again(face: Face) -> None:
    hold(face, 20_000)
    click(face.window.training_line.finish)
    train(face, 24_000, finishing=0.4)
    assert line(face) == f"Finishing training: 40%{ENDS}" and not face.window.training_line.finish.isVisible()
    face.die("rollout")
    face.restart()
    face.engine["rollout"].play(report(20_000))  # the checkpoint is from before the finish
    face.engine["rollout"].play(Waited("rollout", HOLDS))
    face.wait_until(lambda: face.controller.course.holding)
    assert line(face) == WAITS
    click(face.window.training_line.finish)
    face.wait_until(lambda: len(face.engine["rollout"].got(FinishRequested)) == 1)


def test_the_answer_to_a_repeated_pair_ends_no_finish(face: Face) -> None:
    face.answered()
    hold(face, 20_000)
    click(face.window.training_line.finish)
    train(face, 24_000, 5.0, finishing=0.4)
    (kept,) = face.answers()
    again = replace(kept.query, repeats=kept.id)
    with face.wait_signal(face.labelling.answer_restored):
        face.labelling.preference_writer.add(again, Choice.LEFT, "human")
    assert line(face) == f"Finishing training: 40%{ENDS}"


def test_the_line_says_when_a_session_has_taken_all_its_steps(face: Face) -> None:
    hold(face, 20_000)
    face.engine["rollout"].play(Waited("rollout", DONE))
    face.wait_until(lambda: line(face).startswith("All steps are used."))
    assert not face.window.training_line.finish.isVisible()


def test_the_text_changes_at_most_every_two_seconds(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(training_line, "time", SimpleNamespace(monotonic=clock))
    hold(face)
    assert line(face) == WAITS
    train(face, 2000)
    clock.now += 1.9
    face.window.refresh()
    assert face.window.training_line.text.text() == WAITS
    clock.now += 0.2
    face.window.refresh()
    assert face.window.training_line.text.text() != WAITS


def test_the_line_is_empty_once_training_has_stopped_by_itself(face: Face) -> None:
    hold(face)
    assert line(face) == WAITS
    face.engine["policy"].die()
    face.wait_until(face.window.banner.isVisible)
    face.window.refresh()
    assert face.window.training_line.text.text() == ""


def test_a_session_with_a_schedule_has_no_actions(open_face: Callable[..., Face]) -> None:
    face = open_face()
    train(face, 1000)
    line(face)
    shown = face.window.training_line
    assert not shown.keep.isVisible() and not shown.finish.isVisible()
