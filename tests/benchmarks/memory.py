"""Memory, threads and open files of the real window and its child processes under continuous labelling.

    xvfb-run -a .venv/bin/python -m tests.benchmarks.memory --minutes 60 --labels-a-minute 30

The oracle chooses, and its answers are given at even intervals by the keys that a person would press. Every ten seconds
the benchmark records proportional set size (shared pages counted once), threads and open files of the window and its
children. At the end it prints one JSON object with the values after ten minutes (or a sixth of the time) and at the end,
and their ratio; then one sentence. The exit code is 1 if memory changed by more than 15 %, or threads or files grew.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import psutil
from PySide6.QtCore import QTimer

from app.session.controller import Controller
from core.config import Config
from tests.benchmarks.windowed import application, close, create_session, parser, press_oracle_key, show, wait_seconds

_EVERY_MS = 10_000
_MOST = 0.15
"""Allowed relative difference between early and final memory."""
_FIRST = 30
"""Answers before training starts."""
Sample = dict[str, Any]


def sample(controller: Controller, started: float) -> Sample:
    """Measure window and children together; `megabytes` lists them separately, the window first."""
    own = psutil.Process()
    processes = [own, *own.children(recursive=True)]
    megabytes = [round(process.memory_full_info().pss / 1e6) for process in processes]
    taken = {
        "seconds": round(time.monotonic() - started),
        "megabytes": megabytes,
        "total": sum(megabytes),
        "threads": sum(process.num_threads() for process in processes),
        "files": sum(process.num_fds() for process in processes),
        "labels": controller.progress.labels,
        "env_steps": controller.progress.env_steps,
    }
    print(json.dumps(taken), file=sys.stderr, flush=True)
    return taken


def faults(samples: list[Sample], early: Sample, late: Sample) -> list[str]:
    """Return a description of everything that changed beyond its limit; empty if nothing did.

    Threads and files come and go with each checkpoint: they have grown if the minimum of the last minute exceeds the
    maximum of the minute around the early sample.
    """
    found = []
    if abs(late["total"] - early["total"]) > _MOST * early["total"]:
        found.append(f"the memory went from {early['total']} to {late['total']} MB")
    for what in ("threads", "files"):
        most = max(one[what] for one in samples if abs(one["seconds"] - early["seconds"]) <= 30)
        least = min(one[what] for one in samples if one["seconds"] >= late["seconds"] - 60)
        if least > most:
            found.append(f"{what} grew from {most} to {least}")
    return found


def verdict(samples: list[Sample], seconds: float) -> int:
    """Print the figures and the verdict; return the exit code."""
    if len(samples) < 2:
        print("failed: there are too few samples, so give it more minutes.")
        return 1
    early, late = min(samples, key=lambda one: abs(one["seconds"] - min(600, seconds / 6))), samples[-1]
    pace = 60 * (late["labels"] - early["labels"]) / (late["seconds"] - early["seconds"])
    figures = {
        "early": early,
        "late": late,
        "ratio": round(late["total"] / early["total"], 3),
        "largest": max(one["total"] for one in samples),
        "labels_a_minute": round(pace, 1),
    }
    print(json.dumps(figures))
    found = faults(samples, early, late)
    print(f"failed: {', '.join(found)}." if found else "passed: the memory is as it was, threads and files too.")
    return 1 if found else 0


def main() -> int:
    options = parser(
        __doc__,
        minutes=(60.0, "minutes of labelling"),
        labels_a_minute=(30.0, "keys pressed per minute"),
        task=(Config().task, "what is taught"),
    ).parse_args()
    labels = round(options.minutes * options.labels_a_minute)
    with application() as (_, scratch):
        session = create_session(
            scratch / "session", options.task, labels=labels, **{"query.first_labels": min(labels, _FIRST)}
        )
        controller, window = show(session)
        samples: list[Sample] = []
        answering = QTimer(interval=round(60_000 / options.labels_a_minute))
        answering.timeout.connect(lambda: press_oracle_key(controller, window))
        sampling, started = QTimer(interval=_EVERY_MS), time.monotonic()
        sampling.timeout.connect(lambda: samples.append(sample(controller, started)))
        controller.start()
        for timer in (answering, sampling):
            timer.start()
        wait_seconds(60 * options.minutes)
        for timer in (answering, sampling):
            timer.stop()  # no samples while children end
        close(window)
    return verdict(samples, 60 * options.minutes)


if __name__ == "__main__":
    sys.exit(main())
