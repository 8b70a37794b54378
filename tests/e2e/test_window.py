"""The window with the real engine in child processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from socket import SOCK_DGRAM
from typing import Any

import psutil
import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.session.controller import Controller
from app.session.factory import window_config
from app.style import theme
from app.windows.main import MainWindow
from core.config import Config, replaced
from core.jobs.job_process import JobProcess
from core.session.session import Session
from core.types import Choice, Teacher
from core.voting.server import local_address
from tests.app.fakes import KEYS
from tests.network import NETWORKED
from tests.processes import children, parts
from tests.screens import ROOT, running

_PATIENCE_MS = 60_000
_SMALL: dict[str, Any] = {
    **{"task": "pendulum", "teacher": "human", "labels": 8},  # its episodes, which are rendered, are short
    **{"steps": 12_800, "rollout.environments": 16, "rollout.steps": 80},
}


def test_answers_are_stored_and_train_the_reward_and_the_untrained_policy_can_be_watched(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    if not qapp.styleSheet():
        theme.apply(qapp)
    controller = Controller(Session.create(tmp_path / "s", replaced(Config(), **_SMALL)), JobProcess)
    window = MainWindow(controller)
    try:
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow, timeout=_PATIENCE_MS)
        controller.start()
        given = answer(controller, window, qtbot)
        qtbot.waitUntil(lambda: "train loss 0" in controller.metrics.series(), timeout=_PATIENCE_MS)
        with closing(controller.session.store()) as store:
            answers = list(store.each())
        assert [(answer.query.id, answer.choice) for answer in answers] == given
        assert all(answer.query.left.states.any() for answer in answers)
        watch_untrained(controller, window, qtbot)
        assert listening() == []
        serve_votes(controller, qtbot)
        assert listening() == []
    finally:
        with qtbot.waitSignal(window.closed, timeout=_PATIENCE_MS):
            window.close()
        window.deleteLater()
    psutil.wait_procs(parts(recursive=True), timeout=60)
    assert parts(recursive=True) == []


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "lag"), [("trpo", 0), ("sac", 1)])
def test_other_optimizers_train_in_the_window(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path, algorithm: str, lag: int
) -> None:
    config = replaced(Config(), **_SMALL, policy__algorithm=algorithm)
    assert window_config(config).policy.lag == lag
    controller = Controller(Session.create(tmp_path / "s", config), JobProcess)
    controller.labelling.set_teacher(Teacher.ORACLE)
    controller.start()
    try:
        batch = config.rollout.environments * config.rollout.steps
        qtbot.waitUntil(lambda: controller.progress.env_steps >= 3 * batch, timeout=_PATIENCE_MS)
    finally:
        with qtbot.waitSignal(controller.stopped, timeout=_PATIENCE_MS):
            controller.stop_for_exit()
        controller.close()
        controller.deleteLater()


def answer(controller: Controller, window: MainWindow, qtbot: QtBot) -> list[tuple[int, Choice]]:
    """Press each key once; return the numbers of the queries and the choices."""
    labelling, given = controller.labelling, list[tuple[int, Choice]]()
    for key, choice in KEYS.items():
        qtbot.waitUntil(lambda: labelling.pairs.shown is not None, timeout=_PATIENCE_MS)
        given.append((labelling.pairs.shown.query.id, choice))
        with qtbot.waitSignal(labelling.answer_kept, timeout=_PATIENCE_MS):
            QTest.keyClick(window, key)
    return given


def watch_untrained(controller: Controller, window: MainWindow, qtbot: QtBot) -> None:
    live = window.live
    qtbot.waitUntil(lambda: bool(controller.policy_history.snapshots), timeout=_PATIENCE_MS)
    live.slider.setValue(0)
    qtbot.waitUntil(
        lambda: live.policy.shown is not None and live.policy.shown.snapshot is not None, timeout=_PATIENCE_MS
    )
    assert live.policy.shown and live.policy.shown.snapshot and live.policy.shown.snapshot.env_steps == 0
    assert live.policy.shown.frames.pixels.shape == (89, 288, 288, 3) and live.policy.shown.frames.pixels.std() > 10
    assert live.title.text() == "At the start" and live.policy.clock.playing


def listening() -> list[str]:
    """Return the addresses at which this process or one of its children can be reached over a network."""
    sockets = []
    for process in (psutil.Process(), *children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            sockets += process.net_connections("inet")
    return [socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN or socket.type == SOCK_DGRAM]


def serve_votes(controller: Controller, qtbot: QtBot) -> None:
    """Switch the page for votes on and off again."""
    if not NETWORKED:
        return
    address = local_address()
    with qtbot.waitSignal(controller.votes.opened, timeout=_PATIENCE_MS):
        controller.votes.start()
    assert listening() == [address]
    with qtbot.waitSignal(controller.votes.ended, timeout=_PATIENCE_MS):
        controller.votes.stop()


def test_ctrl_c_ends_everything_cleanly(tmp_path: Path) -> None:
    """Ctrl+C also reaches the children, which must ignore it and end at the window's request."""
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-m", "app", "--session", str(tmp_path / "s"), "--teacher", "oracle"]
    with running(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, start_new_session=True) as program:
        while (
            not list((tmp_path / "s").glob("policies/*")) and program.poll() is None
        ):  # ends when all jobs have started
            time.sleep(0.1)
        family = psutil.Process(program.pid).children(recursive=True)
        os.killpg(program.pid, signal.SIGINT)
        _, complaints = program.communicate(timeout=150)
    assert program.returncode == 0, complaints
    assert "Traceback" not in complaints and "app.workers.job_worker" not in complaints and "QThread" not in complaints
    assert len(family) >= 5
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive
