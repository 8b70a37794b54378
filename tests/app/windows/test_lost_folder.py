"""A session's folder that is moved away and brought back while its window is open."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.session.controller import LOST_TRAINING, State
from app.session.summary_writer import SummaryWriter
from core.metrics import Metrics
from core.session import metrics_file, summary
from core.session.session import Session
from core.types import Choice
from tests.app.fakes import Face, numbers, press_restart
from tests.app.live_view_driver import learned, open_demo, published, snapshot_steps

GONE = "is gone. Bring the session's folder back, then try again."


@pytest.fixture
def away(face: Face) -> Path:
    """Place to which the tests move the folder of a session with an answer, a checkpoint and a policy."""
    face.answered()
    face.learn()
    learned(face, 0)
    with face.wait_signal(face.controller.checkpointer.saved):
        face.controller.checkpointer.request()
    return face.folder.with_name("away")


def refuse_checkpoint(face: Face) -> None:
    """Let the jobs learn something, and wait until saving it is refused."""
    face.learn()
    with face.wait_signal(face.controller.checkpointer.refused):
        face.controller.checkpointer.request()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("other", [False, True])
def test_changes_while_the_folder_is_missing_are_refused_or_saved_on_its_return(
    face: Face, away: Path, other: bool
) -> None:
    """other: whether an empty folder takes its name meanwhile"""
    banner, bar, checkpointer = face.window.banner.text, face.window.unsaved_bar, face.controller.checkpointer
    checkpointer.retry_timer.setInterval(0)
    query = face.query
    face.folder.rename(away)
    if other:
        face.folder.mkdir()
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: banner.text().startswith("The answer was not saved: ") and banner.text().endswith(GONE))
    assert face.query is query and face.controller.progress.labels == 1
    face.press(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    face.wait_until(lambda: "not saved" not in banner.text() and banner.text().endswith(GONE))
    face.engine["policy"].play(published(10**10))
    refuse_checkpoint(face)
    assert bar.isVisible() and "Training is not being saved;" in bar.text.text() and bar.text.text().endswith(GONE)
    assert face.controller.state == State.RUNNING and snapshot_steps(face.controller) == [0]
    assert list(face.folder.glob("*")) == [] and face.folder.exists() == other
    if other:
        face.folder.rmdir()
    with face.wait_signal(checkpointer.saved):
        away.rename(face.folder)
    assert not bar.isVisible() and numbers(face)["policy"] > 1
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: face.controller.progress.labels == 2)
    assert [answer.choice for answer in face.answers()] == [Choice.LEFT, Choice.RIGHT]
    learned(face, 2 * 10**10)
    assert snapshot_steps(face.controller) == [0, 2 * 10**10]


def test_a_copy_in_place_of_the_folder_is_not_changed(face: Face, away: Path) -> None:
    SummaryWriter(face.controller)
    face.labelling.preference_writer.count()
    face.wait_until((face.folder / summary.NAME).exists)
    reports = list[str]()
    face.controller.trouble_arose.connect(reports.append)
    shutil.copytree(face.folder, face.folder.with_name("copy"))
    face.folder.rename(away)
    face.folder.with_name("copy").rename(face.folder)
    before = {path: path.read_bytes() for path in face.folder.rglob("*") if path.is_file()}
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: "was replaced by another copy" in face.window.banner.text.text())
    face.engine["policy"].play(published(10**10))
    face.wait_until(lambda: len(reports) == 2)
    refuse_checkpoint(face)
    face.window.pause_action.trigger()
    face.wait_until(lambda: len(reports) == 3)
    assert reports[2].startswith("The session's summary was not saved: ")
    assert {path: path.read_bytes() for path in face.folder.rglob("*") if path.is_file()} == before


def test_quitting_asks_before_training_is_lost_and_leaves_no_folder_behind(face: Face, away: Path) -> None:
    face.folder.rename(away)
    refuse_checkpoint(face)
    face.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    box = face.window.findChild(QMessageBox)
    face.wait_until(box.isVisible)
    assert "training since the last checkpoint could not be saved" in box.text()
    (leave,) = [button for button in box.buttons() if "Close anyway" in button.text()]
    with face.wait_signal(face.window.closed):
        QTest.mouseClick(leave, Qt.MouseButton.LeftButton)
    assert face.controller.abandoned == LOST_TRAINING and not face.folder.exists()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("learns", [False, True])
def test_a_session_stopped_without_its_folder_reports_nothing_saved_and_continues_later(
    face: Face, away: Path, learns: bool
) -> None:
    face.folder.rename(away)
    if learns:
        face.learn()
    face.stop()
    demo = open_demo(face)
    for detail in (face.window.empty.detail, demo.detail):
        demo.refresh()
        assert detail.text().startswith(LOST_TRAINING if learns else "The checkpoint could not be saved: ")
    demo.close()
    face.window.pause_action.trigger()
    face.wait_until(lambda: face.controller.state == State.STOPPED)
    text = face.window.banner.text.text()
    assert text.startswith("The checkpoint could not be loaded: ") and text.endswith(GONE)
    away.rename(face.folder)
    face.window.pause_action.trigger()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert face.engine["policy"].spec.state.values == {"n": 1}
    face.wait_until(lambda: snapshot_steps(face.controller) == [0])


def test_a_failed_job_restarts_from_its_checkpoint_when_the_folder_returns(face: Face, away: Path) -> None:
    face.folder.rename(away)
    face.die("policy")
    press_restart(face)
    face.wait_until(lambda: face.window.banner.text.text().endswith(GONE))
    assert face.controller.state == State.FAILED
    away.rename(face.folder)
    face.restart()
    assert face.engine["policy"].spec.state.values == {"n": 1}
    face.answer_another()


def test_the_plots_continue_after_a_start_without_the_folder(qtbot: QtBot, open_face: Callable[..., Face]) -> None:
    first = open_face()
    first.close()
    metrics = Metrics()
    metrics.append("agreement", 1.0, 0.5)
    metrics_file.save(first.folder, metrics)
    face = Face(qtbot, first.folder, Session.open(first.folder))
    away = face.folder.rename(face.folder.with_name("away"))
    face.window.show()
    face.controller.start()
    face.wait_until(lambda: face.controller.state == State.STOPPED)
    away.rename(face.folder)
    face.open()
    assert "agreement" in face.controller.metrics.series()
    face.close()
    face.window.deleteLater()
    face.controller.deleteLater()
