"""Latency of Stop and of closing the window while everything trains, with a real window and real child processes.

    .venv/bin/python tests/benchmarks/stopping.py [--times 10] [--json]

Stop is acknowledged when the window shows it (half a second is promised), and done when the last checkpoint is written
and no child is left. Closing ends when every child and thread is gone (three seconds).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QSettings, QTimer
from PySide6.QtWidgets import QApplication

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.session.controller import Controller, State
from app.style import theme
from app.windows.main import MainWindow
from core.config import Config, replaced
from core.session.session import Session
from core.system.child_process import JobProcess
from core.tasks import get_task
from core.types import Teacher

_PATIENCE_MS = 300_000


def wait(done: Callable[[], bool]) -> float:
    """Processes events until the condition holds. Returns the seconds it took."""
    started, loop, timer = time.monotonic(), QEventLoop(), QTimer(interval=1)
    timer.timeout.connect(lambda: loop.quit() if done() else None)
    QTimer.singleShot(_PATIENCE_MS, loop.quit)
    timer.start()
    loop.exec()
    assert done(), "the condition never held"
    return time.monotonic() - started


def at_work(controller: Controller) -> bool:
    """Whether the policy trains: the first fit is done."""
    return "train loss 0" in controller.metrics.names() and controller.progress.steps_per_second > 0


def pause_a_while(rng: random.Random) -> None:
    until = time.monotonic() + rng.uniform(0, 2)
    wait(lambda: time.monotonic() > until)


def once(folder: Path, rng: random.Random) -> dict[str, float]:
    if (folder / "config.json").exists():
        session = Session.open(folder)
    else:
        session = Session.create(
            folder, replaced(Config(), **{**get_task(Config().task).presets, "labels": 20, "steps": 10**12})
        )
    controller = Controller(session, JobProcess)
    window = MainWindow(controller)
    gone: list[bool] = []
    window.closed.connect(lambda: gone.append(True))
    window.show()
    controller.start()
    controller.labelling.set_teacher(Teacher.ORACLE)
    wait(lambda: at_work(controller))
    pause_a_while(rng)
    window.stop_action.trigger()
    answered = wait(lambda: window.empty.headline.text() in ("Saving", "Stopped") and window.empty.isVisible())
    stopped = answered + wait(lambda: controller.state == State.STOPPED)
    controller.start()
    wait(lambda: at_work(controller) and controller.state == State.RUNNING)
    pause_a_while(rng)
    window.close()
    closed = wait(lambda: bool(gone))
    window.deleteLater()
    return {"stop_answered": answered, "stop_done": stopped, "closed": closed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="number of stops and closings")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    application, rng = QApplication.instance() or QApplication([]), random.Random(1)
    assert isinstance(application, QApplication)
    theme.apply(application)
    with tempfile.TemporaryDirectory() as place:
        QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, place)  # not the user's settings
        taken = [once(Path(place) / "s", rng) for _ in range(args.times)]
    figures = {name: sorted(round(t[name], 3) for t in taken) for name in taken[0]}
    result = {name: {"median": times[len(times) // 2], "worst": times[-1]} for name, times in figures.items()}
    print(json.dumps(result) if args.json else "\n".join(f"{name:16}{value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
