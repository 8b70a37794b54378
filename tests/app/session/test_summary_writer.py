"""The summary of an open session, updated with real checkpoints and reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.live.demonstrations import Demonstration
from app.session.summary_writer import SummaryWriter
from core.session import summary
from core.session.summary import Summary
from core.types import Teacher
from tests.app.fakes import Face, make_frames
from tests.app.live_view_driver import open_demo
from tests.app.tape import report

Keep = Callable[[Face], SummaryWriter]


@pytest.fixture
def keep() -> Keep:
    def made(face: Face) -> SummaryWriter:
        writer = SummaryWriter(face.controller)
        face.labelling.preference_writer.count()  # as the program does at the start of a session
        return writer

    return made


def read(face: Face) -> Summary:
    return summary.read(face.folder)


def test_the_summary_has_the_task_at_once_and_the_figures_with_the_next_checkpoint(
    face: Face, keep: Keep, caplog: pytest.LogCaptureFixture
) -> None:
    (face.folder / summary.NAME).write_bytes(b"\0")  # a damaged one is replaced
    keep(face)
    face.wait_until(lambda: (face.folder / summary.NAME).stat().st_size > 50)
    assert "Writing a new one" in caplog.text
    first = read(face)
    assert (first.task, first.teacher, first.labels) == ("hopper-backflip", "human", 0)
    assert (first.best, first.measure_title) == (None, "Backflips per episode (8 s)")
    face.answered()
    for env_steps, flips in ((1000, 1.5), (2000, 4.5), (3000, 3.0)):
        face.engine["rollout"].play(report(env_steps, flips=flips))
    face.wait_until(lambda: face.controller.progress.env_steps == 3000)
    face.labelling.set_teacher(Teacher.ORACLE)
    face.controller.checkpointer.request()
    face.wait_until(lambda: read(face).best == 4.5)
    assert (read(face).labels, read(face).env_steps, read(face).teacher) == (1, 3000, "oracle")


def test_a_crash_in_demo_mode_restores_the_previous_teacher(face: Face, keep: Keep) -> None:
    keep(face)
    face.wait_until((face.folder / summary.NAME).exists)
    demo = open_demo(face, Qt.KeyboardModifier.ShiftModifier)
    face.engine["rollout"].play(report(1000))
    face.wait_until(lambda: face.controller.progress.env_steps == 1000)
    face.controller.checkpointer.request()
    face.wait_until(lambda: read(face).env_steps == 1000)
    assert face.labelling.teacher == Teacher.ORACLE and read(face).teacher == "human"
    demo.close()


def test_the_best_figure_of_earlier_runs_is_kept(open_face: Callable[..., Face], keep: Keep) -> None:
    first = open_face()
    keep(first)
    first.engine["rollout"].play(report(5000, flips=6.0))
    first.wait_until(lambda: first.controller.progress.env_steps == 5000)
    first.close()
    assert read(first).best == 6.0
    used_at = read(first).used_at
    again = open_face()
    keep(again)
    first.wait_until(lambda: read(again).used_at > used_at)
    assert (read(again).best, read(again).env_steps) == (6.0, 5000)
    again.engine["rollout"].play(report(6000, flips=2.0))
    first.wait_until(lambda: again.controller.progress.env_steps == 6000)
    again.window.pause_action.trigger()
    first.wait_until(lambda: read(again).env_steps == 6000)
    assert read(again).best == 6.0


def test_training_continues_when_the_summary_cannot_be_written(
    face: Face, keep: Keep, caplog: pytest.LogCaptureFixture
) -> None:
    told_of: list[str] = []
    face.controller.trouble_arose.connect(told_of.append)
    (face.folder / f"{summary.NAME}.part").mkdir()
    keeper = keep(face)
    face.wait_until(lambda: "was not saved" in caplog.text)
    keeper.write()
    face.wait_until(lambda: caplog.text.count("was not saved") == 2)
    assert len(told_of) == 1 and "The session's summary was not saved" in face.window.banner.text.text()
    assert not (face.folder / summary.NAME).exists()
    (face.folder / f"{summary.NAME}.part").rmdir()
    keeper.write()
    face.wait_until((face.folder / summary.NAME).exists)
    face.answer_another()


def test_a_moved_session_is_not_recreated_at_its_old_place(
    face: Face, keep: Keep, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    keeper = keep(face)
    face.wait_until((face.folder / summary.NAME).exists)
    face.folder.rename(tmp_path / "away")
    with face.wait_signal(face.controller.checkpointer.refused) as emitted:
        face.controller.checkpointer.request()
    assert "Bring the session's folder back" in emitted.args[0]
    face.controller.demonstrations.demonstration_drawn.emit(
        Demonstration(make_frames(size=64, count=8), np.zeros(8, np.float32), 100)
    )
    keeper.write()
    face.wait_until(lambda: "picture was not saved" in caplog.text)
    assert "summary was not saved" in caplog.text
    assert not face.folder.exists()
    (tmp_path / "away").rename(face.folder)
    with face.wait_signal(face.controller.checkpointer.saved):
        face.controller.checkpointer.request()
