"""Undo finish: return to the policy from before a finish."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.keys.commands import Command
from app.session.controller import State
from app.session.summary_writer import SummaryWriter
from core.events import (
    DemonstrationRecorded,
    Event,
    Failed,
    FinishRequested,
    JobState,
    RewardPublished,
    Waited,
)
from core.preferences.schedule import DONE, FINISHED, HOLDS
from core.session import summary
from core.session.checkpoint import CHECKPOINTS
from core.session.job_states import KEPT_REWARD
from core.session.session import Session
from tests.app.fakes import FULL, Face, make_query, make_segment
from tests.app.finish_driver import (
    AFTER,
    BEFORE,
    act,
    draw_until,
    finish,
    held,
    hold_saves,
    line,
    offered,
    possible,
    restored,
    snapshots,
    undo,
    wait,
)
from tests.app.tape import report
from tests.core.builders import raising


@pytest.fixture
def face(open_face: Callable[..., Face]) -> Face:
    return held(open_face)


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


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("lost", "refused", "renewed"),
    [
        ("clips", False, ["rollout", "reward", "policy", "clips"]),
        ("clips", True, ["clips"]),
        ("rollout", True, ["rollout", "policy"]),
        ("reward", True, ["reward"]),
    ],
)
def test_a_job_that_ends_while_a_finish_is_undone_is_started_with_its_partner(
    face: Face, monkeypatch: pytest.MonkeyPatch, lost: str, refused: bool, renewed: list[str]
) -> None:
    finish(face)
    may_end, undone = threading.Event(), Session.undo_finish

    def undo_late(session: Session) -> None:
        may_end.wait()
        if refused:
            raise FULL
        undone(session)

    monkeypatch.setattr(Session, "undo_finish", undo_late)
    made = len(face.engine.made)
    face.window.training_line.undo_finish.click()
    face.engine[lost].die()
    face.wait_until(lambda: lost not in face.controller.job_group.running)
    may_end.set()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert sorted(job.spec.name for job in face.engine.made[made:]) == sorted(renewed)
    (query,) = face.offer(make_query())
    face.wait_until(lambda: face.query is query)


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
    draw_until(face, lambda: bool(requests))
    undo(face)
    monkeypatch.undo()
    for event in requests:
        send(event)
    face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(6, np.float32), BEFORE))
    draw_until(face, lambda: bool(shown))
    assert shown == [BEFORE]


@pytest.mark.parametrize("back", [0, 1])
def test_the_finished_policy_leaves_the_live_view_with_the_undo(face: Face, back: int) -> None:
    """back: steps of the slider from the newest policy to an earlier one, which is not drawn before the undo."""
    finish(face)
    live = face.window.live
    face.engine["rollout"].play(
        DemonstrationRecorded(make_segment(), np.zeros(6, np.float32), AFTER, {}, {"height": np.ones(6, np.float32)})
    )
    draw_until(face, lambda: live.policy.shown is not None)
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


@pytest.mark.slow_after_first
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
