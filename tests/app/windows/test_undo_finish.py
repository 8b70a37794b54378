"""Undo finish: return to the policy from before a finish."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.keys.commands import Command
from app.session.controller import State
from app.session.metrics_recorder import PREDICTED
from app.session.summary_writer import SummaryWriter
from core.events import (
    DemonstrationRecorded,
    Event,
    Failed,
    FinishRequested,
    JobState,
    PolicyPublished,
    RewardPublished,
    Waited,
)
from core.preferences.schedule import DONE, FINISHED, HOLDS
from core.session import summary
from core.session.job_states import KEPT_REWARD
from core.session.plain_files import CHECKPOINTS
from core.session.session import Session
from core.types import Choice, PolicyComparison, Query, Teacher
from tests.app.fakes import DRIVEN, FULL, Face, make_query, make_segment
from tests.app.tape import report
from tests.core.builders import raising

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


def begin(face: Face) -> None:
    """Give two answers, and let training wait for the next one."""
    face.controller.progress.counted(2)
    for env_steps in (10_000, BEFORE):
        act(face, env_steps)
    wait(face, HOLDS)


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
        assert text.text() == f"{left} to go: one clip is from before the finish, one from after it."
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


@pytest.fixture
def face(open_face: Callable[..., Face]) -> Face:
    face = open_face(**DRIVEN)
    begin(face)
    return face


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


def test_undoing_a_finish_reverts_training_and_keeps_the_answers(face: Face) -> None:
    face.answered(Qt.Key.Key_Down)
    wait(face, HOLDS)
    assert not possible(face)
    finish(face)
    assert offered(face) and possible(face) and snapshots(face)[-1] == AFTER
    shown, clips = face.query, face.engine["clips"]
    with face.wait_signal(face.controller.succeeded) as told:
        undo(face)
    assert told.args == ["The finish is undone; all answers stay."]
    assert len(face.answers()) == 1 and face.query is shown and face.engine["clips"] is clips
    assert restored(face)
    finish(face)
    assert offered(face)


def test_the_live_view_predicts_with_the_earlier_reward_after_an_undo(face: Face) -> None:
    weights = {f"{KEPT_REWARD}weight": np.ones(3, np.float32)}
    finish(face)
    loaded = face.controller.session.load()
    assert loaded is not None
    number, states = loaded
    rollout = states["rollout"]
    states["rollout"] = JobState({**rollout.arrays, **weights}, rollout.values)
    face.controller.session.save(number + 1, states)
    face.controller.session.before_finish.keep(number + 1)
    undo(face)
    face.wait_until(lambda: len(face.engine["clips"].got(RewardPublished)) == 1)


def test_one_or_two_finishes_can_be_undone_while_running(face: Face) -> None:
    """Both are undone together, because the first one alone may already have spoiled the policy."""
    finish(face)
    face.window.training_line.finish.click()
    act(face, 35_000, 0.5)
    assert offered(face)
    undo(face)
    assert restored(face)


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
    assert line(face).startswith("1 to go: ")
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: face.query.comparison is None)
    assert line(face) == "The finished policy was preferred in 1 of 2 pairs, the earlier one in 1."


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
    assert line(face).startswith("1 to go: ")
    finish(face)
    assert line(face).startswith("Training is finished.")
    (new,) = face.offer(comparison(2))
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is new)
    assert line(face).startswith("2 to go: ") and face.controller.course.comparison.preferred is None


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


@pytest.mark.parametrize("reason", [FINISHED, DONE])
def test_comparisons_are_marked_after_the_last_step_of_a_session(face: Face, reason: str) -> None:
    finish(face)
    face.offer(make_query(), comparison(1), make_query())
    face.press(Qt.Key.Key_Down)
    face.wait_until(lambda: face.query.comparison is not None)
    wait(face, reason)
    assert line(face).startswith("1 to go: ")


def test_a_late_report_of_an_undone_finish_is_ignored(face: Face) -> None:
    finish(face)
    rollout = face.engine["rollout"]
    QTest.mouseClick(face.window.training_line.undo_finish, Qt.MouseButton.LeftButton)
    rollout.play(Waited("rollout", FINISHED))
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert not face.controller.course.finish_asked and restored(face)


def test_a_finish_reverted_by_a_restart_is_over(face: Face) -> None:
    """The rollout ends before a checkpoint contains the finish."""
    with face.wait_signal(face.controller.checkpointer.saved):
        QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
    act(face, 25_000, 0.5)
    face.engine["rollout"].die()
    face.wait_until(lambda: face.controller.state == State.FAILED)
    face.controller.restart()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert face.engine["rollout"].spec.state.values["env_steps"] == BEFORE
    assert not face.controller.course.finish_asked and not offered(face)


def test_a_finish_that_does_not_begin_keeps_the_undo_of_the_previous_one(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(face)
    act(face, AFTER)
    _, following = face.offer(make_query(), make_query())
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is following)
    with monkeypatch.context() as patch:
        saves = hold_saves(patch)
        QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
        face.press(Qt.Key.Key_Left)
        face.wait_until(lambda: len(face.answers()) == 2)
        with face.wait_signal(face.controller.checkpointer.saved):
            saves.set()
    assert len(face.engine["rollout"].got(FinishRequested)) == 1 and possible(face)
    face.window.commands[Command.UNDO_FINISH].trigger()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert face.engine["rollout"].spec.state.values["env_steps"] == BEFORE


def test_an_answer_before_a_finish_has_begun_leaves_nothing_to_undo(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollout, saves = face.engine["rollout"], hold_saves(monkeypatch)
    face.offer(make_query(), make_query())
    QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: len(face.answers()) == 1)
    with face.wait_signal(face.controller.checkpointer.saved):
        saves.set()
    assert not rollout.got(FinishRequested) and not possible(face)


def test_a_finish_can_be_undone_after_the_session_was_closed(face: Face, open_face: Callable[..., Face]) -> None:
    finish(face)
    face.close()
    again = open_face(face.folder)
    assert possible(again) and not offered(again)
    again.controller.progress.counted(2)
    act(again, AFTER, 1.0)
    wait(again, FINISHED)
    assert offered(again)
    undo(again)
    assert restored(again)


def test_a_finish_whose_checkpoint_cannot_be_saved_runs_and_is_not_undone(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Session, "save", raising(FULL))
        with face.wait_signal(face.controller.checkpointer.refused):
            QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
    act(face, 25_000, 0.5)
    assert face.controller.course.finishing == 0.5 and not offered(face)


def test_a_damaged_checkpoint_is_reported_and_training_continues(face: Face) -> None:
    finish(face)
    job = face.engine["rollout"]
    Path(face.folder / CHECKPOINTS / "before-finish.safetensors").write_bytes(b"")
    undo(face)
    banner = face.window.banner
    face.wait_until(banner.isVisible)
    assert not banner.shows_failure
    assert banner.text.text().startswith("The checkpoint from before the finish can't be read (")
    assert face.engine["rollout"] is job and face.controller.progress.env_steps == AFTER


def test_a_failed_undo_loses_no_training(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(face)
    act(face, 500_000, 1.0)
    wait(face, FINISHED)
    job = face.engine["rollout"]
    monkeypatch.setattr(Session, "undo_finish", raising(FULL))
    undo(face)
    assert face.engine["rollout"] is job and face.controller.progress.env_steps == 500_000
    assert face.controller.checkpointer.unsaved and offered(face)


def test_no_answer_is_taken_while_a_finish_is_undone(face: Face) -> None:
    finish(face)
    face.offer(make_query(), make_query())
    face.window.training_line.undo_finish.click()
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert face.answers() == []
    assert restored(face)


@pytest.mark.parametrize("end", ["close", "stop"])
def test_an_undo_interrupted_by_a_stop_is_completed(face: Face, open_face: Callable[..., Face], end: str) -> None:
    finish(face)
    face.window.training_line.undo_finish.click()
    if end == "stop":
        face.window.stop_action.trigger()
        face.wait_until(lambda: face.controller.state == State.STOPPED)
        face.controller.start()
        face.wait_until(lambda: face.controller.state == State.RUNNING)
        assert face.engine["rollout"].spec.state.values["env_steps"] == BEFORE
        return
    face.close()
    again = open_face(face.folder)
    again.controller.progress.counted(2)
    assert again.engine["rollout"].spec.state.values["env_steps"] == BEFORE
    assert not again.window.banner.shows_failure


def test_an_answer_withdrawn_after_reopening_keeps_the_undo(face: Face, open_face: Callable[..., Face]) -> None:
    face.offer(make_query(), make_query())
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: len(face.answers()) == 1 and not face.labelling.flash_timer.isActive())
    wait(face, HOLDS)
    finish(face)
    face.close()
    again = open_face(face.folder)
    again.press(Qt.Key.Key_Backspace)
    again.wait_until(lambda: again.answers() == [])
    act(again, AFTER, 1.0)
    wait(again, FINISHED)
    assert offered(again)


def test_a_finish_that_takes_the_last_steps_can_be_undone(face: Face) -> None:
    finish(face)
    wait(face, DONE)
    assert offered(face)
    undo(face)
    assert restored(face)


def test_a_finish_not_begun_at_a_stop_can_be_requested_again(face: Face) -> None:
    rollout = face.engine["rollout"]
    QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
    face.window.stop_action.trigger()
    assert not face.controller.course.finish_asked
    face.wait_until(lambda: face.controller.state == State.STOPPED)
    assert not rollout.got(FinishRequested)
    face.controller.start()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    act(face, BEFORE)
    wait(face, HOLDS)
    finish(face)
    assert offered(face)


def test_a_finish_that_had_not_begun_at_a_failure_leaves_nothing_to_undo(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves = hold_saves(monkeypatch)
    QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
    face.engine["clips"].play(Failed("clips", "OutOfMemoryError: no room", "traceback"))
    face.engine["clips"].die(1)
    face.wait_until(lambda: face.controller.state == State.FAILED)
    saves.set()
    face.controller.restart()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert not possible(face) and not face.controller.course.finish_asked


def test_a_recording_of_the_finished_policy_is_not_shown_after_an_undo(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(face)
    clips, shown = face.engine["clips"], list[int]()
    requests, send = list[Event](), clips.send
    face.window.live.policy.demonstration_started.connect(lambda d: shown.append(d.env_steps))
    monkeypatch.setattr(clips, "send", requests.append)
    face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(6, np.float32), AFTER))

    def drawn(into: list[int] | list[Event]) -> bool:
        face.controller.demonstrations.draw_if_due(pair_ready=True)
        return bool(into)

    face.wait_until(lambda: drawn(requests))
    undo(face)
    monkeypatch.undo()
    for event in requests:
        send(event)
    face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(6, np.float32), BEFORE))
    face.wait_until(lambda: drawn(shown))
    assert shown == [BEFORE]


@pytest.mark.parametrize("back", [0, 1])
def test_the_finished_policy_leaves_the_live_view_with_the_undo(face: Face, back: int) -> None:
    """back: steps of the slider from the newest policy to an earlier one, which is not drawn before the undo."""
    finish(face)
    live = face.window.live
    face.engine["rollout"].play(
        DemonstrationRecorded(make_segment(), np.zeros(6, np.float32), AFTER, {}, {"height": np.ones(6, np.float32)})
    )

    def drawn() -> bool:
        face.controller.demonstrations.draw_if_due(pair_ready=True)
        return live.policy.shown is not None

    face.wait_until(drawn)
    assert live.title.text().startswith("Newest: after") and live.show_signals.isVisible()
    live.step(-back)
    undo(face)
    assert live.policy.shown is None and live.policy.player.frames is None and not live.policy.clock.playing
    assert live.title.text() == "Newest policy" and live.figure.text() == "" and not live.show_signals.isVisible()
    assert not face.controller.episode.series()


def test_the_best_figure_of_an_undone_finish_leaves_the_summary(face: Face) -> None:
    SummaryWriter(face.controller)
    face.labelling.preference_writer.count()
    checkpointer = face.controller.checkpointer
    finish(face)
    face.engine["rollout"].play(report(AFTER + 1000, flips=9.0, finishing=1.0))
    face.wait_until(lambda: face.controller.progress.env_steps == AFTER + 1000)
    with face.wait_signal(checkpointer.saved):
        checkpointer.request()
    face.wait_until(lambda: summary.read(face.folder).best == 9.0)
    undo(face)
    act(face, BEFORE)
    with face.wait_signal(checkpointer.saved):
        checkpointer.request()
    face.wait_until(lambda: summary.read(face.folder).best == 2.5)


@pytest.mark.parametrize("late", [lambda face: wait(face, FINISHED), lambda face: act(face, AFTER, 1.0)])
def test_a_finish_ended_by_an_answer_stays_ended_after_a_late_event_of_it(
    face: Face, late: Callable[[Face], None]
) -> None:
    with face.wait_signal(face.controller.checkpointer.saved):
        QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
    act(face, 25_000, 0.5)
    _, following = face.offer(make_query(), make_query())
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is following)
    late(face)
    act(face, 40_000)
    assert not face.controller.course.finish_asked and not face.controller.votes_wait
    assert line(face) == "Training is running."


def test_a_finish_begins_once_its_undo_is_saved(face: Face) -> None:
    rollout = face.engine["rollout"]
    with face.wait_signal(face.controller.checkpointer.saved):
        QTest.mouseClick(face.window.training_line.finish, Qt.MouseButton.LeftButton)
        assert not rollout.got(FinishRequested)
    face.wait_until(lambda: len(rollout.got(FinishRequested)) == 1)


def test_a_session_with_a_schedule_has_no_undo_of_a_finish(open_face: Callable[..., Face], tmp_path: Path) -> None:
    assert not possible(open_face(tmp_path / "scheduled"))
