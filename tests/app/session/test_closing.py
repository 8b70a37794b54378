"""Files that are being written while the session stops or its window closes."""

from __future__ import annotations

import threading

import pytest

from app.session.controller import State
from core.events import StateSaved
from tests.app.fakes import Face, endless, numbers


def slow_file(gate: threading.Event) -> bytes:
    assert gate.wait(60)  # longer than any of the tests waits
    return b"all of it"


@pytest.mark.parametrize("stopped_before", [False, True])
def test_closing_waits_for_a_file_in_progress_without_blocking_the_window(face: Face, stopped_before: bool) -> None:
    gate, target = threading.Event(), face.folder.parent / "large.csv"
    if stopped_before:
        face.stop()
    face.controller.file_tasks.deadline.setInterval(60_000)
    face.controller.file_tasks.write(target, lambda: slow_file(gate))
    with face.wait_signal(face.window.closed):
        face.window.close()
        face.wait_until(lambda: not face.controller.job_group.running)
        assert face.window.isVisible() and "the file you asked for" in face.window.empty.detail.text()
        gate.set()
    assert target.read_bytes() == b"all of it"


@pytest.mark.parametrize("stopped_before", [False, True])
def test_a_closing_window_abandons_a_file_that_takes_too_long(
    face: Face, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, stopped_before: bool
) -> None:
    monkeypatch.setattr("app.workers.file_tasks.export_session", endless)
    file_tasks = face.controller.file_tasks
    target, later = face.folder.parent / "mine.somersault", face.folder / "x.csv"
    if stopped_before:
        face.stop()
    target.write_bytes(b"as it was")
    file_tasks.export(target)
    file_tasks.write(later, lambda: b"never begun")
    face.controller.set_repeats(True)
    file_tasks.deadline.setInterval(60_000)
    with face.wait_signal(face.window.closed):
        face.window.close()
        face.wait_until(lambda: "file is not saved" in face.window.empty.detail.text())
        file_tasks.deadline.start(0)
    assert target.read_bytes() == b"as it was" and not later.exists()
    assert "mine.somersault was not saved because the session was closed" in caplog.text
    assert face.controller.session.config.query.repeats == "on"  # quick tasks are completed


def test_only_a_closing_window_abandons_a_slow_last_checkpoint(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    controller, policy = face.controller, face.engine["policy"]
    held, play = list[StateSaved](), policy.play
    monkeypatch.setattr(policy, "play", held.append)
    controller.exit_timer.setInterval(0)
    face.window.stop_action.trigger()
    face.wait_until(lambda: bool(held))
    assert controller.last_checkpoint_timer.remainingTime() > 10_000
    with face.wait_signal(controller.stopped):
        play(held[0])
    assert numbers(face)["policy"] == 1


def test_a_window_closing_during_a_stop_abandons_the_last_checkpoint(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = face.controller
    monkeypatch.setattr(face.engine["policy"], "send", lambda event: None)
    controller.last_checkpoint_timer.setInterval(600_000)
    controller.exit_timer.setInterval(0)
    face.window.stop_action.trigger()
    assert controller.state == State.STOPPING
    with face.wait_signal(face.window.closed):
        face.window.close()
    assert face.controller.session.load() is None
