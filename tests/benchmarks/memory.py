"""Does anything grow? The real window, labelled without a pause, and what it and its children hold.

    xvfb-run -a .venv/bin/python tests/benchmarks/memory.py --minutes 60 --labels-a-minute 30

Answers are the oracle's, given by the key that a person would press, evenly spread. Every ten seconds it notes the
proportional set size (shared pages counted once), threads and open files of window and children; at the end it prints
one JSON object: each after ten minutes (or a sixth of the time) and at the end, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app import theme
from app.controller import Controller
from app.windows.main import MainWindow
from core import oracle
from core.config import Config, replaced
from core.processes import JobProcess
from core.records import Choice
from core.session import Session
from core.tasks import find

_KEYS = {Choice.LEFT: Qt.Key.Key_Left, Choice.RIGHT: Qt.Key.Key_Right, Choice.TIE: Qt.Key.Key_Up}
_EVERY_MS = 10_000
_FIRST = 30
"""Answers before training starts, as in a session made in the window."""


@dataclass(frozen=True)
class Sample:
    """Of window and children together, but for megabytes: of each, the window first."""

    seconds: float
    megabytes: tuple[int, ...]
    threads: int
    files: int
    labels: int
    env_steps: int

    @property
    def total(self) -> int:
        return sum(self.megabytes)


class Watch(QObject):
    """Answers, and notes what is held."""

    def __init__(self, window: MainWindow, controller: Controller, labels_a_minute: float) -> None:
        super().__init__()
        self._window, self._controller = window, controller
        self._started = time.monotonic()
        self.samples: list[Sample] = []
        self._timers = [QTimer(self, interval=round(60_000 / labels_a_minute)), QTimer(self, interval=_EVERY_MS)]
        for timer, slot in zip(self._timers, (self._on_label_due, self._on_sample_due), strict=True):
            timer.timeout.connect(slot)
            timer.start()

    def stop(self) -> None:
        for timer in self._timers:
            timer.stop()

    def _on_label_due(self) -> None:
        shown = self._window.clips.shown
        if shown is not None:
            choice = oracle.answer(shown.query, self._controller.session.config).choice
            QTest.keyClick(self._window, _KEYS[choice])

    def _on_sample_due(self) -> None:
        own = psutil.Process()
        processes = [own, *own.children(recursive=True)]
        sample = Sample(
            round(time.monotonic() - self._started),
            tuple(round(process.memory_full_info().pss / 1e6) for process in processes),
            sum(process.num_threads() for process in processes),
            sum(process.num_fds() for process in processes),
            self._controller.progress.labels,
            self._controller.progress.env_steps,
        )
        self.samples.append(sample)
        print(json.dumps({**asdict(sample), "total": sample.total}), file=sys.stderr, flush=True)


def figures(samples: list[Sample], seconds: float) -> dict[str, object]:
    early = min(samples, key=lambda sample: abs(sample.seconds - min(600, seconds / 6)))
    late = samples[-1]
    return {
        "early": {**asdict(early), "total": early.total},
        "late": {**asdict(late), "total": late.total},
        "ratio": round(late.total / early.total, 3),
        "largest": max(sample.total for sample in samples),
        "labels_a_minute": round(60 * (late.labels - early.labels) / (late.seconds - early.seconds), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--labels-a-minute", type=float, default=30)
    options = parser.parse_args()
    app = QApplication([])
    app.setQuitOnLastWindowClosed(False)
    theme.apply(app)
    with tempfile.TemporaryDirectory() as folder:
        labels = round(options.minutes * options.labels_a_minute)
        chosen = {"labels": labels, "steps": 10**12, "query.first_labels": min(labels, _FIRST)}
        config = replaced(Config(), **{**find(Config().task).presets, **chosen})
        controller = Controller(Session.create(Path(folder) / "session", config), JobProcess)
        window = MainWindow(controller)
        watch = Watch(window, controller, options.labels_a_minute)
        window.closed.connect(app.quit)
        QTimer.singleShot(round(60_000 * options.minutes), window.close)
        window.show()
        window.activateWindow()
        controller.start()
        app.exec()
        watch.stop()
    print(json.dumps(figures(watch.samples, 60 * options.minutes)))


if __name__ == "__main__":
    main()
