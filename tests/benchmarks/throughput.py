"""Cost of the window for training: steps per second with the window and of the same children without it, in turn.

    xvfb-run -a .venv/bin/python -m tests.benchmarks.throughput --rounds 3 --seconds 40

With the window, clips play, plots and live view update, and a key is pressed every few seconds. Without it the children
are the same, and neither pairs nor the live view are drawn. Prints one JSON object. Run it on an idle machine; it
asserts nothing.
"""

from __future__ import annotations

import json
import statistics
import sys

from PySide6.QtCore import QTimer

from app.session.controller import Controller, State
from core.config import replaced
from core.jobs.job_process import JobProcess
from core.session.session import Session
from tests.benchmarks.windowed import (
    application,
    close,
    create_session,
    parser,
    press_oracle_key,
    show,
    wait,
    wait_seconds,
)


def steps_per_second(controller: Controller, seconds: float) -> float:
    wait(lambda: "train loss 0" in controller.metrics.series() and controller.state == State.RUNNING)
    wait_seconds(5)
    before = controller.progress.env_steps
    wait_seconds(seconds)
    return (controller.progress.env_steps - before) / seconds


def with_window(session: Session, seconds: float, label_every: float = 2.5) -> float:
    controller, window = show(session)
    pressing = QTimer(interval=round(1000 * label_every))
    pressing.timeout.connect(lambda: press_oracle_key(controller, window))
    pressing.start()
    controller.start()
    rate = steps_per_second(controller, seconds)
    pressing.stop()
    close(window)
    return rate


def without(session: Session, seconds: float) -> float:
    controller = Controller(session, JobProcess)
    unseen = replaced(session.config, teacher="human", policy__lag=1, rollout__demonstrate_every=0)
    controller.job_group.config = unseen
    controller.labelling.pairs.next_renderings = lambda: []
    controller.start()
    rate = steps_per_second(controller, seconds)
    controller.stop()
    wait(lambda: controller.state == State.STOPPED)
    controller.close()
    return rate


def main() -> None:
    given = {"rounds": (3, "pairs of runs"), "seconds": (40.0, "seconds measured in each run")}
    options = parser(__doc__, **given).parse_args()
    with application() as (_, scratch):
        folder, pairs = scratch / "session", []
        create_session(folder, labels=20).close()
        with_window(Session.open(folder), 30, 0.8)  # gives the first answers, so that the measured runs train
        for _ in range(options.rounds):
            seen = with_window(Session.open(folder), options.seconds)
            pairs.append((seen, without(Session.open(folder), options.seconds)))
            print(json.dumps({"with_window": round(pairs[-1][0]), "without": round(pairs[-1][1])}), file=sys.stderr)
    ratio = statistics.median(seen / unseen for seen, unseen in pairs)
    print(json.dumps({"pairs": [[round(a), round(b)] for a, b in pairs], "ratio": round(ratio, 3)}))


if __name__ == "__main__":
    main()
