"""Latency of Stop and of closing the window while everything trains, with a real window and real child processes.

    .venv/bin/python -m tests.benchmarks.stopping [--times 10]

Stop is acknowledged when the window shows it (half a second is promised), and complete when the last checkpoint is
written and no child is left. Closing is complete when every child and thread has ended (three seconds).
"""

from __future__ import annotations

import json
import random

from app.session.controller import State
from core.session.session import Session
from core.types import Teacher
from tests.benchmarks.windowed import application, close, create_session, parser, show, trains, wait, wait_seconds


def measure(session: Session, rng: random.Random) -> dict[str, float]:
    """Stop once and close once, each at a random moment of training; return the latencies in seconds."""
    controller, window = show(session)
    controller.start()
    controller.labelling.set_teacher(Teacher.ORACLE)
    wait(lambda: trains(controller))
    wait_seconds(rng.uniform(0, 2))
    window.stop_action.trigger()
    answered = wait(lambda: window.empty.headline.text() in ("Saving", "Stopped") and window.empty.isVisible())
    stopped = answered + wait(lambda: controller.state == State.STOPPED)
    controller.start()
    wait(lambda: trains(controller) and controller.state == State.RUNNING)
    wait_seconds(rng.uniform(0, 2))
    return {"stop_answered": answered, "stop_done": stopped, "closed": close(window)}


def main() -> None:
    options = parser(__doc__, times=(10, "number of stops and closings")).parse_args()
    rng = random.Random(1)
    with application() as (_, scratch):
        create_session(scratch / "s", labels=500).close()  # enough that training never waits for an answer
        taken = [measure(Session.open(scratch / "s"), rng) for _ in range(options.times)]
    figures = {name: sorted(round(seconds[name], 3) for seconds in taken) for name in taken[0]}
    print(json.dumps({name: {"median": all[len(all) // 2], "worst": all[-1]} for name, all in figures.items()}))


if __name__ == "__main__":
    main()
