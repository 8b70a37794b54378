"""Pages that appear after an event: exports, a pause, a crash, votes, an import, a robot from a file, a lost folder.

camera: the Photographer of pictures.py
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QFileDialog, QMessageBox

from app.application import Application
from app.keys.commands import Command
from app.session.controller import Controller, State
from app.windows.demo import DemoWindow
from app.windows.main import MainWindow
from app.windows.start import StartWindow
from core.types import Choice
from tests.benchmarks.windowed import wait_seconds

_VOTERS = Path(__file__).with_name("voters.py")
Until = Callable[[Callable[[], bool]], None]


def take_exports(camera: Any, window: MainWindow, controller: Controller, archive: Path, until: Until) -> None:
    """Take pictures of the Export menu, the file dialog and the progress of a film, and the message about a saved file."""
    menu = window.export_button.menu()
    menu.popup(window.export_button.mapToGlobal(QPoint(0, window.export_button.height())))
    wait_seconds(0.5)
    camera.take(menu, "export-menu", screen=True)
    menu.close()
    window.run_action(Command.TALK_FILM)
    dialog = window.findChild(QFileDialog)
    wait_seconds(0.5)
    camera.take(dialog, "export-film")
    dialog.close()
    controller.film_export.make(controller.session.folder.parent / "backflips-talk.mp4", talk=True)
    until(lambda: window.film_bar.bar.value() > 5)
    camera.take(window, "export-film-progress")
    window.film_bar.cancel.click()
    until(window.film_bar.isHidden)
    controller.file_tasks.export(archive)
    until(window.toast.isVisible)
    camera.take(window, "export-done")


def take_pause(camera: Any, window: MainWindow, controller: Controller, until: Until) -> None:
    """Take pictures of a paused session and of the signals below the live view."""
    until(window.live.show_signals.isVisible)
    window.live.show_signals.click()
    wait_seconds(1)
    camera.take(window, "session-signals")
    window.live.show_signals.click()
    controller.pause(True)
    wait_seconds(0.5)
    camera.take(window, "session-paused")
    controller.pause(False)


def take_failure(camera: Any, window: MainWindow, controller: Controller, until: Until) -> None:
    """Take pictures of a session whose stage was killed, and the session after Restart."""
    kill_stage("policy")
    until(lambda: window.banner.shows_failure)
    wait_seconds(0.5)
    camera.take(window, "session-failed")
    window.banner.restart.click()
    until(lambda: controller.state == State.RUNNING and window.pair_page.has_pair)


def take_demo_failure(camera: Any, demo: DemoWindow, controller: Controller, until: Until) -> None:
    """Take pictures of demo mode while training has failed, and after its automatic restart."""
    interval = demo.restart_timer.interval()
    demo.restart_timer.setInterval(600_000)
    kill_stage("policy")
    until(lambda: controller.state == State.FAILED)
    wait_seconds(0.5)
    camera.take(demo, "demo-failed")
    demo.restart_timer.start(interval)
    until(lambda: controller.state == State.RUNNING and demo.pair_page.has_pair)
    camera.take(demo, "demo-restarted")


def take_votes(camera: Any, window: MainWindow, controller: Controller, until: Until) -> None:
    """Take pictures of the question before a vote, the code, and a round of real votes from start to answer."""
    window.run_action(Command.VOTE)
    box = next(box for box in window.findChildren(QMessageBox) if box.isVisible())
    wait_seconds(0.5)
    camera.take(box, "vote-question")
    box.button(QMessageBox.StandardButton.Yes).click()
    demo = window.watching_commands.demo
    until(lambda: bool(controller.votes.url) or bool(demo.notice.text()))
    if not controller.votes.url:  # this machine is not in a network
        camera.take(demo, "vote-no-network")
        demo.close()
        return
    until(lambda: demo.pair_page.has_pair)
    wait_seconds(1)
    camera.take(demo, "vote-code")
    words = [sys.executable, str(_VOTERS), controller.votes.url, "--voters", "24", "--seconds", "16"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as voters:
        until(lambda: sum(demo.bars.counts.values()) >= 20)
        camera.take(demo, "vote-counts")
        before = controller.progress.labels
        until(lambda: controller.progress.labels > before or voters.poll() is not None)
        camera.take(demo, "vote-result")
    demo.close()


def take_import(camera: Any, program: Application, archive: Path, until: Until) -> None:
    """Take pictures of the start page with an imported session, and of that session as soon as it is open."""
    start = program.start
    start.library.import_file(archive)
    until(lambda: "Imported" in start.banner.text.text())
    until(lambda: start.sessions.list.current is not None)
    wait_seconds(1)
    camera.take(start, "start-imported")
    entry = start.sessions.list.current
    start.sessions.open_requested.emit(entry.folder)
    until(lambda: program.open is not None)
    wait_seconds(0.5)
    camera.take(program.open.window, "imported-opening")
    window = program.open.window
    until(lambda: window.pair_page.has_pair and window.live.policy.shown is not None)
    camera.take(window, "imported")


def take_robot_file(camera: Any, start: StartWindow, until: Until) -> None:
    """Take pictures of the page of behaviours: a robot from an MJCF file, expressions, a mistake in them, and practice."""
    found = find_spec("gymnasium")
    assert found and found.origin
    page, model = start.behaviour_page, Path(found.origin).parent / "envs" / "mujoco" / "assets" / "humanoid.xml"
    page.robot_file_chosen.emit(model)
    until(lambda: page.draft.robot.startswith("mjcf:") and page.view.clip is not None)
    page.title.setText("Standing on one leg")
    page.title.textEdited.emit(page.title.text())
    page.instruction.setPlainText("Choose the clip in which the robot stands more firmly on one leg.")
    wait_seconds(2)
    camera.take(start, "behaviour-mjcf")
    page.fold.click()
    page.expressions.oracle.expression.setText("up - heigth")
    page.expressions.oracle.edited.emit()
    wait_seconds(0.5)
    page.area.verticalScrollBar().setValue(page.area.verticalScrollBar().maximum())
    camera.take(start, "behaviour-expressions")
    page.expressions.oracle.expression.setText("")
    page.expressions.oracle.edited.emit()
    page.practise.click()
    until(lambda: page.practice.clips.shown is not None)
    wait_seconds(0.5)
    camera.take(start, "behaviour-practice")
    page.leave()


def take_lost_folder(camera: Any, program: Application, until: Until) -> None:
    """Take a picture of a session that refuses an answer because its folder was deleted."""
    window, folder = program.open.window, program.open.controller.session.folder
    until(lambda: not folder.exists() or shutil.rmtree(folder, ignore_errors=True) or not folder.exists())
    window.run_action(Choice.LEFT)
    until(window.banner.isVisible)
    wait_seconds(0.5)
    camera.take(window, "session-lost")


def kill_stage(name: str) -> None:
    """Send SIGKILL to the child process of this job."""
    found = [child for child in multiprocessing.active_children() if child.name == f"somersault-{name}"]
    pid = found[-1].pid
    os.kill(pid, signal.SIGKILL)
