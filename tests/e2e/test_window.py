"""The window over the real engine, in real child processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.session.controller import Controller
from app.style import theme
from app.windows.main import MainWindow
from core.config import Config, replaced
from core.session.session import Session
from core.system.child_process import JobProcess
from core.types import Choice

ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_MS = 60_000
_SMALL = {"teacher": "human", "labels": 8, "rollout.environments": 16, "rollout.steps": 80}
_KEYS = {
    Qt.Key.Key_Left: Choice.LEFT,
    Qt.Key.Key_Right: Choice.RIGHT,
    Qt.Key.Key_Up: Choice.TIE,
    Qt.Key.Key_Down: Choice.CANT_TELL,
}


def children() -> list[psutil.Process]:
    every = psutil.Process().children(recursive=True)
    return [child for child in every if "resource_tracker" not in " ".join(child.cmdline())]


@pytest.fixture
def face(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> Iterator[tuple[Controller, MainWindow]]:
    """A shown window with all children started; closed at the end, whatever happens."""
    theme.apply(qapp)
    controller = Controller(Session.create(tmp_path / "s", replaced(Config(), **_SMALL)), JobProcess)
    window = MainWindow(controller)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    controller.start()
    yield controller, window
    with qtbot.waitSignal(window.closed, timeout=_PATIENCE_MS):
        window.close()
    window.deleteLater()
    assert children() == []


def test_a_persons_answers_land_in_the_store_and_train_the_reward(
    face: tuple[Controller, MainWindow], qtbot: QtBot
) -> None:
    controller, window = face
    labelling = controller.labelling
    given: list[tuple[int, Choice]] = []
    for number in range(6):
        qtbot.waitUntil(lambda: labelling.pairs.shown is not None, timeout=_PATIENCE_MS)
        key, choice = list(_KEYS.items())[number % len(_KEYS)]
        assert labelling.pairs.shown
        given.append((labelling.pairs.shown.query.id, choice))
        with qtbot.waitSignal(labelling.answer_kept, timeout=_PATIENCE_MS):
            QTest.keyClick(window, key)
    qtbot.waitUntil(lambda: "train loss 0" in controller.metrics.names(), timeout=_PATIENCE_MS)
    store = controller.session.store()
    answers = store.all()
    store.close()
    assert [(answer.query.id, answer.choice) for answer in answers] == given
    assert all(answer.query.left.states.any() for answer in answers)


def test_the_untrained_policy_is_kept_and_can_be_seen_to_act_again(
    face: tuple[Controller, MainWindow], qtbot: QtBot
) -> None:
    controller, window = face
    live = window.live
    qtbot.waitUntil(lambda: bool(controller.policy_history.snapshots), timeout=_PATIENCE_MS)
    live.slider.setValue(0)
    qtbot.waitUntil(lambda: live.shown is not None and live.shown.snapshot is not None, timeout=_PATIENCE_MS)
    assert live.shown and live.shown.snapshot and live.shown.snapshot.env_steps == 0
    assert live.shown.frames.pixels.shape == (240, 288, 288, 3) and live.shown.frames.pixels.std() > 10
    assert live.title.text() == "Untrained" and live.policy.playing


_ANSWER_ONE = """
import sys, pathlib
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from app.session.controller import Controller
from app.style import theme
from app.windows.main import MainWindow
from core.config import Config, replaced
from core.session.session import Session
from core.system.child_process import JobProcess

def report(preference):
    window.repaint()  # the flash is on screen now, and the next thing to happen is SIGKILL
    print(window.clips.flashed, preference.query.id, flush=True)

if __name__ == '__main__':
    app = QApplication([])
    theme.apply(app)
    changes = {'teacher': 'human', 'labels': 8, 'rollout.environments': 16, 'rollout.steps': 80}
    controller = Controller(Session.create(pathlib.Path(sys.argv[1]), replaced(Config(), **changes)), JobProcess)
    window = MainWindow(controller)
    controller.labelling.pair_shown.connect(lambda pair: QTest.keyClick(window, Qt.Key.Key_Right))
    controller.labelling.answer_kept.connect(report)
    window.show()
    window.activateWindow()
    controller.start()
    app.exec()
"""


def test_an_answer_whose_flash_was_seen_survives_sigkill(tmp_path: Path) -> None:
    script, folder = tmp_path / "answer_one.py", tmp_path / "s"
    script.write_text(textwrap.dedent(_ANSWER_ONE))
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, str(script), str(folder)], cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout
        choice, query = program.stdout.readline().split()
        orphans = psutil.Process(program.pid).children(recursive=True)
        program.kill()
    session = Session.open(folder)
    store = session.store()
    answers = store.all()
    store.close()
    session.close()
    assert answers and (answers[0].choice, answers[0].query.id) == (Choice(choice), int(query))
    _, alive = psutil.wait_procs(orphans, timeout=20)
    assert not alive


def test_ctrl_c_ends_everything_cleanly(tmp_path: Path) -> None:
    """Ctrl+C reaches the children too; they must leave the answer to the window and end when it says so."""
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-m", "app", "--session", str(tmp_path / "s"), "--teacher", "oracle"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as program:
        family: list[psutil.Process] = []
        while len(family) < 5 and program.poll() is None:  # the tracker of shared memory is the fifth
            time.sleep(0.2)
            family = _family(program.pid)
        time.sleep(3)
        os.killpg(program.pid, signal.SIGINT)
        _, complaints = program.communicate(timeout=30)
    assert program.returncode == 0, complaints
    assert "Traceback" not in complaints and "app.workers.job_worker" not in complaints and "QThread" not in complaints
    assert len(family) >= 5
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


def _family(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
