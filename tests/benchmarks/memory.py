"""Memory, threads and open files of the real window and its child processes, labelled without a pause.

    xvfb-run -a .venv/bin/python tests/benchmarks/memory.py --minutes 60 --labels-a-minute 30

The oracle chooses, and its answers are given at even intervals by the keys that a person would press. Every ten seconds
it records proportional set size (shared pages counted once), threads and open files of the window and its children. At
the end it prints one JSON object with the values after ten minutes (or a sixth of the time) and at the end, and their
ratio; then one sentence. The exit code is 1 if memory at the end differs by more than 15 %, or threads or files grew.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from PySide6.QtCore import QObject, QTimer

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.session.controller import Controller
from app.windows.main import MainWindow
from tests.benchmarks.windowed import application, close, create_session, parser, press_oracle_key, show, wait_seconds

_EVERY_MS = 10_000
_MOST = 0.15
"""Allowed relative difference between early and final memory."""
_FIRST = 30
"""Answers before training starts."""


@dataclass(frozen=True)
class Sample:
    """One measurement of window and children together; `megabytes` lists them separately, the window first."""

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
    """Answers pairs and records samples."""

    def __init__(self, window: MainWindow, controller: Controller, labels_a_minute: float) -> None:
        super().__init__()
        self._controller, self._started = controller, time.monotonic()
        self.samples: list[Sample] = []
        self.answering = QTimer(self, interval=round(60_000 / labels_a_minute))
        self.answering.timeout.connect(lambda: press_oracle_key(controller, window))
        self.answering.start()
        self.sampling = QTimer(self, interval=_EVERY_MS)
        self.sampling.timeout.connect(self._on_sample_due)
        self.sampling.start()

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


def faults(samples: list[Sample], early: Sample, late: Sample) -> list[str]:
    """Returns a description of everything that grew or shrank beyond its limit; empty if nothing did.

    Threads and files come and go with each checkpoint: they have grown if the minimum of the last minute exceeds the
    maximum of the minute around the early sample.
    """
    found = []
    if abs(late.total - early.total) > _MOST * early.total:
        found.append(f"the memory went from {early.total} to {late.total} MB")
    before = [sample for sample in samples if abs(sample.seconds - early.seconds) <= 30]
    after = [sample for sample in samples if sample.seconds >= late.seconds - 60]
    for what in ("threads", "files"):
        most = max(getattr(sample, what) for sample in before)
        least = min(getattr(sample, what) for sample in after)
        if least > most:
            found.append(f"{what} grew from {most} to {least}")
    return found


def verdict(samples: list[Sample], seconds: float) -> int:
    """Prints the figures and the verdict. Returns the exit code."""
    if len(samples) < 2:
        print("failed: there are too few samples, so give it more minutes.")
        return 1
    early, late = min(samples, key=lambda sample: abs(sample.seconds - min(600, seconds / 6))), samples[-1]
    figures = {
        "early": {**asdict(early), "total": early.total},
        "late": {**asdict(late), "total": late.total},
        "ratio": round(late.total / early.total, 3),
        "largest": max(sample.total for sample in samples),
        "labels_a_minute": round(60 * (late.labels - early.labels) / (late.seconds - early.seconds), 1),
    }
    print(json.dumps(figures))
    found = faults(samples, early, late)
    print(f"failed: {', '.join(found)}." if found else "passed: the memory is as it was, threads and files too.")
    return 1 if found else 0


def main() -> int:
    options = parser(
        __doc__, minutes=(60.0, "minutes of labelling"), labels_a_minute=(30.0, "keys pressed per minute")
    ).parse_args()
    labels = round(options.minutes * options.labels_a_minute)
    with application() as (_, scratch):
        session = create_session(scratch / "session", labels=labels, **{"query.first_labels": min(labels, _FIRST)})
        controller, window = show(session)
        watch = Watch(window, controller, options.labels_a_minute)
        controller.start()
        wait_seconds(60 * options.minutes)
        watch.answering.stop()
        watch.sampling.stop()  # no samples while children end
        close(window)
    return verdict(watch.samples, 60 * options.minutes)


if __name__ == "__main__":
    sys.exit(main())
