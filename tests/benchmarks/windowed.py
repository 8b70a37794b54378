"""Parts shared by the benchmarks of the window: a session, a shown window over real child processes, keys, waiting."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QEventLoop, QSettings, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.session.controller import Controller
from app.style import theme
from app.windows.main import MainWindow
from app.workers.garbage import collected_here
from core.config import Config, replaced
from core.jobs.job_process import JobProcess
from core.preferences import oracle
from core.session.session import Session
from core.tasks import get_task
from core.types import Choice

_KEYS = {Choice.LEFT: Qt.Key.Key_Left, Choice.RIGHT: Qt.Key.Key_Right, Choice.TIE: Qt.Key.Key_Up}


def parser(description: str | None, **given: tuple[float | str, str]) -> argparse.ArgumentParser:
    """Return an argument parser with an option for each value: its default, which fixes its type, and its help."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (default, text) in given.items():
        made.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default, help=text)
    return made


@contextmanager
def application() -> Iterator[tuple[QApplication, Path]]:
    """Yield the application in its style, and a scratch folder with its own settings instead of the user's."""
    app = QApplication([])
    app.setQuitOnLastWindowClosed(False)
    theme.apply(app)
    with collected_here(), tempfile.TemporaryDirectory(prefix="somersault-benchmark-") as scratch:
        QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, scratch)
        yield app, Path(scratch)


def create_session(folder: Path, name: str = Config().task, **changes: object) -> Session:
    """Create a session of a task with its presets that never reaches its last step."""
    return Session.create(folder, replaced(Config(task=name), **{**get_task(name).presets, "steps": 10**12, **changes}))


def show(session: Session) -> tuple[Controller, MainWindow]:
    """Show the window of a session; `controller.start()` then starts its children."""
    controller = Controller(session, JobProcess)
    window = MainWindow(controller)
    window.show()
    window.activateWindow()
    return controller, window


def wait(done: Callable[[], bool], seconds: float = 300) -> float:
    """Process events until the condition holds; return the seconds it took. Raises SystemExit after too long."""
    started, loop, timer = time.perf_counter(), QEventLoop(), QTimer(interval=1)
    timer.timeout.connect(lambda: loop.quit() if done() else None)
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    timer.start()
    loop.exec()
    if not done():
        raise SystemExit(f"The window did not get there within {seconds:.0f} seconds.")
    return time.perf_counter() - started


def wait_seconds(seconds: float) -> None:
    """Process events for this time, without polling a condition."""
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def close(window: MainWindow) -> float:
    """Close the window; return the seconds until every child and thread has ended."""
    closed: list[bool] = []
    window.closed.connect(lambda: closed.append(True))
    window.close()
    seconds = wait(lambda: bool(closed))
    window.deleteLater()
    return seconds


def press_oracle_key(controller: Controller, window: MainWindow) -> None:
    """Press the key of the oracle's answer to the pair shown, if there is one."""
    shown = window.clips.shown
    if shown is not None:
        QTest.keyClick(window, _KEYS[oracle.answer(shown.query, controller.session.config).choice])


def trains(controller: Controller) -> bool:
    """Return whether the first reward fit is done and steps are collected."""
    return "train loss 0" in controller.metrics.series() and controller.progress.steps_per_second > 0
