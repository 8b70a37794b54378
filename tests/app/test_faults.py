"""Faults put in wherever the window depends on a disk, a child or a pipe: no answer lost, no hang, one sentence."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.controller import State
from app.labelling import HUMAN, ORACLE
from app.remedies import remedy
from core.config import Config, replaced
from core.errors import Lack, UserError
from core.events import (
    AnswersReplayed,
    BatchCollected,
    ClipsRequested,
    Event,
    Failed,
    Paused,
    PolicyPublished,
    PreferenceAdded,
    PreferenceWithdrawn,
    RewardPublished,
    StateRequested,
    StateSaved,
)
from core.preferences import PreferenceStore
from core.processes import JobSpec
from core.session import Session
from tests.app.fakes import Face, FakeProcess, make_query
from tests.app.yielded import events

Error = tuple[type[Exception], tuple[Any, ...]]
ERRORS: list[Error] = [
    (OSError, (errno.ENOSPC, os.strerror(errno.ENOSPC))),
    (RuntimeError, ("CUDA out of memory.",)),
    (MemoryError, ()),
]
FULL: Error = (UserError, ("The checkpoint can't be written: make room.",))


def stop_button(face: Face) -> None:
    QTest.mouseClick(face.window.banner.restart, Qt.MouseButton.LeftButton)


@pytest.mark.parametrize("index", range(len(events())), ids=[type(event).__name__ for _, event in events()])
def test_a_worker_that_cannot_pass_on_an_event_is_told_of_and_started_again(
    face: Face, qtbot: QtBot, index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, event = events()[index]
    first = make_query()
    face.offer(first, make_query())
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: len(face.answers()) == 1)
    relay = face.controller.crew._relay

    def failing(passed: Event) -> bool:
        if passed is event:
            raise RuntimeError("as injected")
        return relay(passed)

    monkeypatch.setattr(face.controller.crew._workers[name], "_relay", failing)
    face.engine[name].play(event)
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    text = face.window.banner.text.text()
    assert "as injected" in text and f"The {name} stage stopped" in text and "\n" not in text
    stop_button(face)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    assert [a.query.id for a in face.answers()] == [first.id]


SENDINGS = [
    ("rollout", PolicyPublished),
    ("reward", PolicyPublished),
    ("policy", BatchCollected),
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
    stop_button(face)
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
@pytest.mark.parametrize("what", ["add", "withdraw_last"])
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


@pytest.mark.parametrize("error", [*ERRORS, FULL])
def test_a_checkpoint_that_fails_stops_nothing_and_the_next_is_tried(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, error: Error
) -> None:
    def failing(*_: Any) -> None:
        raise error[0](*error[1])

    with monkeypatch.context() as patch:
        patch.setattr(Session, "save", failing)
        face.controller.checkpoints.request()
        qtbot.waitUntil(lambda: face.window.banner.isVisible())
    assert face.controller.state == State.RUNNING and not face.window.banner.shows_failure
    assert "checkpoint" in face.window.banner.text.text()
    face.controller.checkpoints.request()
    qtbot.waitUntil(lambda: face.controller.checkpoints.saved_at is not None)


def test_checkpoints_that_fail_one_after_the_other_are_told_of_once_until_one_is_saved(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints, told = face.controller.checkpoints, list[str]()
    face.controller.trouble_arose.connect(told.append)

    def failing(session: Session, number: int, states: Any) -> None:
        raise UserError(f"Checkpoint {number} can't be written: bring the folder back.")

    for expected in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(Session, "save", failing)
            for _ in range(3):
                with qtbot.waitSignal(checkpoints.refused):
                    checkpoints.request()
        assert len(told) == expected
        with qtbot.waitSignal(checkpoints.saved):
            checkpoints.request()


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


def test_stopping_ends_even_when_the_last_checkpoint_fails(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise UserError("The checkpoint can't be written: make room.")

    monkeypatch.setattr(Session, "save", failing)
    with qtbot.waitSignal(face.controller.stopped):
        face.window.stop_action.trigger()


@pytest.mark.parametrize(
    ("job", "lack", "device", "button"),
    [
        ("rollout", Lack.GPU_MEMORY, "cuda", "Retry on the CPU"),
        ("policy", Lack.GPU_MEMORY, "auto", "Retry on the CPU"),
        ("policy", Lack.GPU_MEMORY, "cpu", "Retry with smaller batches"),
        ("reward", Lack.MEMORY, "auto", "Retry with smaller batches"),
        ("rollout", Lack.MEMORY, "auto", "Restart"),
        ("clips", Lack.MEMORY, "auto", "Restart"),
        ("policy", Lack.NOTHING, "auto", "Restart"),
    ],
)
def test_what_lacked_memory_is_started_again_with_less(job: str, lack: Lack, device: str, button: str) -> None:
    config = replaced(Config(), device=device)
    found = remedy(Failed(job, "", "", lack), config)
    assert found.name == button
    assert (found.config.device == "cpu") == (button == "Retry on the CPU" or device == "cpu")
    shrunk = {"policy": found.config.policy.minibatch, "reward": found.config.reward.minibatch}
    whole = {"policy": config.policy.minibatch, "reward": config.reward.minibatch}
    assert shrunk == {name: n // 2 if name == job and "smaller" in button else n for name, n in whole.items()}


def test_an_optimiser_that_takes_whole_batches_is_offered_no_smaller_ones() -> None:
    config = replaced(Config(), policy__algorithm="a2c")
    assert remedy(Failed("policy", "", "", Lack.MEMORY), config).name == "Restart"
    assert remedy(Failed("reward", "", "", Lack.MEMORY), config).name == "Retry with smaller batches"


@pytest.mark.parametrize(("job", "least"), [("policy", 64), ("reward", 8)])
def test_batches_shrink_only_as_far_as_they_still_teach(job: str, least: int) -> None:
    failed, config = Failed(job, "", "", Lack.MEMORY), Config()
    for _ in range(20):
        config = remedy(failed, config).config
    assert getattr(config, job).minibatch == least
    assert remedy(failed, config).name == "Restart"
    small = replaced(config, **{f"{job}__minibatch": 5})
    assert remedy(failed, small).config == small


def test_the_button_says_and_does_it(face: Face, qtbot: QtBot) -> None:
    face.engine["reward"].play(Failed("reward", "CUDA out of memory", "trace", Lack.GPU_MEMORY))
    qtbot.waitUntil(lambda: face.window.banner.restart.text() == "Retry on the CPU")
    stop_button(face)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    assert face.engine["reward"].spec.config["device"] == "cpu"
    assert face.controller.session.config.device == "auto"  # the session keeps its own
    face.engine["reward"].die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    assert face.window.banner.restart.text() == "Restart"


def test_why_a_stage_failed_while_all_was_stopped_is_no_reason_for_a_later_end(face: Face, qtbot: QtBot) -> None:
    face.engine["policy"].play(Failed("policy", "MemoryError", "trace", Lack.MEMORY))
    with qtbot.waitSignal(face.controller.stopped):
        face.controller.stop()
    face.controller.start()
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    face.engine["policy"].die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    assert "its process ended unexpectedly" in face.window.banner.text.text()
    assert face.window.banner.restart.text() == "Restart"


class FullSystem:
    """Makes so many processes of the engine, and then none any more."""

    def __init__(self, face: Face, left: int) -> None:
        self._make, self._left = face.engine, left

    def __call__(self, spec: JobSpec) -> FakeProcess:
        self._left -= 1
        if self._left < 0:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self._make(spec)


@pytest.mark.parametrize("left", [0, 1])
def test_a_child_that_cannot_be_made_is_a_failure_like_another(face: Face, qtbot: QtBot, left: int) -> None:
    crew = face.controller.crew
    face.engine["policy"].die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    crew.make_process = FullSystem(face, left)
    stop_button(face)
    qtbot.waitUntil(lambda: "Too many open files" in face.window.banner.text.text())
    assert face.window.banner.shows_failure and face.controller.state == State.FAILED
    assert crew.running == ("reward", "clips") and all(p.started or p.stopped for p in face.engine.made)
    crew.make_process = face.engine
    stop_button(face)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    assert set(crew.running) == {"rollout", "policy", "reward", "clips"}


def test_without_any_child_the_window_still_closes(face: Face, qtbot: QtBot) -> None:
    with qtbot.waitSignal(face.controller.stopped):
        face.controller.stop()
    face.controller.crew.make_process = FullSystem(face, 2)
    face.controller.start()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    assert face.controller.state == State.FAILED and not face.controller.crew.running
    with qtbot.waitSignal(face.window.closed):
        QTest.mouseClick(face.window.banner.quit, Qt.MouseButton.LeftButton)


def test_a_film_for_which_no_child_can_be_made_is_refused_and_another_is_made(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    films, target = face.controller.films, face.folder.parent / "x.mp4"
    with monkeypatch.context() as patch:
        patch.setattr(films, "_make_process", FullSystem(face, 0))
        with qtbot.waitSignal(films.film_refused) as refused:
            films.make(target)
    assert "Too many open files" in refused.args[0]
    films.make(target)
    with qtbot.waitSignal(films.film_ended):
        films.cancel()


def test_why_a_film_failed_is_in_the_log(face: Face, qtbot: QtBot, caplog: pytest.LogCaptureFixture) -> None:
    face.controller.films.make(face.folder.parent / "x.mp4")
    with caplog.at_level("ERROR"), qtbot.waitSignal(face.controller.films.film_ended) as told:
        face.engine["film"].play(Failed("film", "RuntimeError: boom", "the trace"))
    assert told.args == ["The film could not be made: RuntimeError: boom."] and "the trace" in caplog.text


def test_save_and_quit_closes_after_a_failure(face: Face, qtbot: QtBot) -> None:
    face.engine["policy"].play(Failed("policy", "MemoryError", "trace", Lack.MEMORY))
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    with qtbot.waitSignal(face.window.closed):
        QTest.mouseClick(face.window.banner.quit, Qt.MouseButton.LeftButton)


def test_a_restart_that_cannot_load_says_why_and_can_be_tried_again(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise UserError("No checkpoint can be read: delete that folder.")

    face.engine["reward"].die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    with monkeypatch.context() as patch:
        patch.setattr(Session, "load", failing)
        stop_button(face)
        qtbot.waitUntil(lambda: "No checkpoint can be read" in face.window.banner.text.text())
    assert face.controller.state == State.FAILED and face.window.banner.restart.isVisible()
    stop_button(face)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    assert not face.window.banner.isVisible()


def test_stopping_waits_for_its_own_checkpoint_and_not_for_the_one_before(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    controller, policy = face.controller, face.engine["policy"]
    begun, go_on, held = threading.Event(), threading.Event(), list[Event]()
    save, play = Session.save, policy.play

    def slow(session: Session, number: int, states: Any) -> None:
        begun.set()
        assert go_on.wait(5)
        save(session, number, states)

    def hold_the_second(event: Event) -> None:
        held.append(event) if isinstance(event, StateSaved) and event.number == 2 else play(event)

    monkeypatch.setattr(Session, "save", slow)
    monkeypatch.setattr(policy, "play", hold_the_second)
    controller._last_checkpoint.setInterval(60_000)
    controller.checkpoints.request()
    qtbot.waitUntil(begun.is_set)
    face.window.stop_action.trigger()
    qtbot.waitUntil(lambda: len(held) == 1)
    with caplog.at_level("INFO"), qtbot.waitSignal(controller.checkpoints.saved) as saved:
        go_on.set()
    assert saved.args == [1] and caplog.messages == ["checkpoint 1"]
    with qtbot.waitSignal(controller.stopped):
        play(held[0])
    assert numbers(face) == {"rollout": 2, "reward": 2, "policy": 2}


def test_a_state_that_comes_too_late_is_no_part_of_a_checkpoint(face: Face, qtbot: QtBot) -> None:
    face.engine["policy"].play(StateSaved("policy", 77, None))  # type: ignore[arg-type]
    face.controller.checkpoints.request()
    qtbot.waitUntil(lambda: face.controller.checkpoints.saved_at is not None)


def slow_file(gate: threading.Event) -> bytes:
    assert gate.wait(20)  # longer than any of the tests waits
    return b"all of it"


def test_a_checkpoint_does_not_wait_for_a_file_that_is_being_written(face: Face, qtbot: QtBot) -> None:
    gate = threading.Event()
    face.controller.errands.write(face.folder.parent / "large.csv", lambda: slow_file(gate))
    with qtbot.waitSignal(face.controller.checkpoints.saved):
        face.controller.checkpoints.request()
    gate.set()


@pytest.mark.parametrize("stopped_before", [False, True])
def test_closing_waits_for_a_file_that_is_being_written_and_holds_up_nothing(
    face: Face, qtbot: QtBot, stopped_before: bool
) -> None:
    gate, target = threading.Event(), face.folder.parent / "large.csv"
    if stopped_before:
        with qtbot.waitSignal(face.controller.stopped):
            face.window.stop_action.trigger()
    face.controller.errands.patience.setInterval(60_000)
    face.controller.errands.write(target, lambda: slow_file(gate))
    with qtbot.waitSignal(face.window.closed):
        face.window.close()
        qtbot.waitUntil(lambda: not face.controller.crew.running)
        assert face.window.isVisible() and "the file that you asked for" in face.window.empty.detail.text()
        gate.set()
    assert target.read_bytes() == b"all of it"


def endless(session: Session, target: Path, go_on: Callable[[], None]) -> None:
    while True:
        go_on()
        time.sleep(0.01)


@pytest.mark.parametrize("stopped_before", [False, True])
def test_a_window_that_closes_gives_up_a_file_that_takes_too_long(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, stopped_before: bool
) -> None:
    monkeypatch.setattr("app.errands.export_session", endless)
    errands, target, later = face.controller.errands, face.folder.parent / "mine.somersault", face.folder / "x.csv"
    assert errands.patience.interval() == 2000
    if stopped_before:
        with qtbot.waitSignal(face.controller.stopped):
            face.window.stop_action.trigger()
    target.write_bytes(b"as it was")
    errands.export(target)
    errands.write(later, lambda: b"never begun")
    face.controller.show_pairs_again(True)
    errands.patience.setInterval(500)
    with qtbot.waitSignal(face.window.closed):
        face.window.close()
        qtbot.waitUntil(lambda: "the file is given up" in face.window.empty.detail.text())
    assert target.read_bytes() == b"as it was" and not later.exists()
    assert "mine.somersault was not written, as the session was closed meanwhile" in caplog.text
    assert face.controller.session.config.query.repeats == "on"  # what is soon done is done


def test_stopping_alone_gives_up_no_file(face: Face, qtbot: QtBot) -> None:
    gate, errands = threading.Event(), face.controller.errands
    errands.write(face.folder / "x.csv", lambda: slow_file(gate))
    face.window.stop_action.trigger()
    qtbot.waitUntil(lambda: not face.controller.crew.running)
    assert face.controller.state == State.STOPPING and not errands.hurries
    with qtbot.waitSignal(face.controller.stopped):
        gate.set()


def numbers(face: Face) -> dict[str, int]:
    """Of each job in the newest checkpoint: the number of the request that its state answered."""
    loaded = face.controller.session.load()
    assert loaded is not None
    return {name: state.values["n"] for name, state in loaded[1].items()}


@pytest.mark.parametrize(
    ("failing", "wanted"),
    [
        ("reward", {"rollout": 2, "reward": 1, "policy": 2}),
        ("policy", {"rollout": 1, "reward": 2, "policy": 1}),
        ("rollout", {"rollout": 1, "reward": 2, "policy": 1}),
        ("clips", {"rollout": 2, "reward": 2, "policy": 2}),
    ],
)
def test_what_the_other_stages_have_learned_is_saved_when_one_fails(
    face: Face, qtbot: QtBot, failing: str, wanted: dict[str, int]
) -> None:
    checkpoints = face.controller.checkpoints
    with qtbot.waitSignal(checkpoints.saved):
        checkpoints.request()
    with qtbot.waitSignal(checkpoints.saved):
        face.engine[failing].die()
    assert face.controller.state == State.FAILED
    assert numbers(face) == wanted


def test_a_stage_that_fails_before_anything_was_saved_leaves_no_half_a_checkpoint(face: Face, qtbot: QtBot) -> None:
    with qtbot.waitSignal(face.controller.job_failed):
        face.engine["reward"].die()
    assert not face.engine["policy"].got(StateRequested)
    assert face.controller.session.load() is None
