"""Cost of the window to the training: steps per second with the window, and of the same children without it, in turn.

    xvfb-run -a .venv/bin/python tests/benchmarks/throughput.py --rounds 3 --seconds 40

With the window, clips play, plots move, the live view acts and a key is pressed every few seconds. Without it the
children are the same, and neither pairs nor the live view are drawn. Prints one JSON object. Run it on an idle machine;
it asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.session.controller import Controller, State
from app.style import theme
from app.windows.main import MainWindow
from core.config import Config, replaced
from core.preferences import oracle
from core.session.session import Session
from core.system.child_process import JobProcess
from core.tasks import get_task
from core.types import Choice

_KEYS = {Choice.LEFT: Qt.Key.Key_Left, Choice.RIGHT: Qt.Key.Key_Right, Choice.TIE: Qt.Key.Key_Up}
_PATIENCE_MS = 120_000


def wait(milliseconds: int, done: Callable[[], bool] = lambda: False) -> None:
    """Processes events for so many milliseconds, or until `done`."""
    loop, timer = QEventLoop(), QTimer(interval=5)
    timer.timeout.connect(lambda: loop.quit() if done() else None)
    timer.start()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def at_work(controller: Controller) -> bool:
    return "train loss 0" in controller.metrics.names() and controller.state == State.RUNNING


def steps_per_second(controller: Controller, seconds: float) -> float:
    wait(_PATIENCE_MS, lambda: at_work(controller))
    wait(5000)
    before = controller.progress.env_steps
    wait(round(1000 * seconds))
    return (controller.progress.env_steps - before) / seconds


def with_window(session: Session, seconds: float, label_every: float) -> float:
    controller = Controller(session, JobProcess)
    window = MainWindow(controller)

    def press() -> None:
        shown = window.clips.shown
        if shown is not None:
            QTest.keyClick(window, _KEYS[oracle.answer(shown.query, session.config).choice])

    pressing = QTimer(interval=round(1000 * label_every))
    pressing.timeout.connect(press)
    pressing.start()
    window.show()
    window.activateWindow()
    controller.start()
    rate = steps_per_second(controller, seconds)
    pressing.stop()
    gone: list[bool] = []
    window.closed.connect(lambda: gone.append(True))
    window.close()
    wait(_PATIENCE_MS, lambda: bool(gone))
    window.deleteLater()
    return rate


def without(session: Session, seconds: float) -> float:
    controller = Controller(session, JobProcess)
    unseen = replaced(session.config, teacher="human", policy__lag=1, rollout__demonstrate_every=0)
    controller.job_group.configure(unseen.to_dict())
    controller.labelling.pairs.next_renderings = lambda: []  # type: ignore[method-assign]
    controller.start()
    rate = steps_per_second(controller, seconds)
    controller.stop()
    wait(_PATIENCE_MS, lambda: controller.state == State.STOPPED)
    controller.close()
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs")
    parser.add_argument("--seconds", type=float, default=40, help="seconds measured in each run")
    parser.add_argument("--label-every", type=float, default=2.5, help="seconds between two answers")
    options = parser.parse_args()
    app = QApplication([])
    app.setQuitOnLastWindowClosed(False)
    theme.apply(app)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "session"
        presets = get_task(Config().task).presets
        Session.create(folder, replaced(Config(), **{**presets, "labels": 20, "steps": 10**12})).close()
        with_window(Session.open(folder), 30, 0.8)  # the first answers, so that the measured runs train
        pairs = []
        for _ in range(options.rounds):
            seen = with_window(Session.open(folder), options.seconds, options.label_every)
            pairs.append((seen, without(Session.open(folder), options.seconds)))
            print(json.dumps({"with_window": round(pairs[-1][0]), "without": round(pairs[-1][1])}), file=sys.stderr)
    ratio = statistics.median(seen / unseen for seen, unseen in pairs)
    print(json.dumps({"pairs": [[round(a), round(b)] for a, b in pairs], "ratio": round(ratio, 3)}))


if __name__ == "__main__":
    main()
