"""Processor time of a session in which training holds and no key is pressed: window and children, in percent of a core.

    xvfb-run -a -s '-screen 0 1600x1000x24' .venv/bin/python -m tests.benchmarks.idle --seconds 600 --session DIR

Gives the first answers of a session of hopper-backflip with the oracle's keys, waits until every job waits for the next
answer, and measures from then on. --session keeps the session: the next run continues it and holds sooner.
Prints one JSON object. The X server is not counted. Processor time can be measured on a busy machine.
"""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import psutil

from app.session.controller import Controller
from app.session.factory import session_config
from app.windows.main import MainWindow
from core.session.session import Session
from tests.benchmarks.windowed import application, close, parser, press_oracle_key, show, wait, wait_seconds

_TASK = "hopper-backflip"
_SETTLE_SECONDS = 10.0


def processor_seconds() -> dict[str, float]:
    """Return the processor seconds so far by process: the window, and each child that is still running."""
    processes = {"window": psutil.Process()} | {
        c.name: psutil.Process(c.pid) for c in multiprocessing.active_children()
    }
    return {name: sum(process.cpu_times()[:2]) for name, process in processes.items()}


def answer_until_held(controller: Controller, window: MainWindow) -> None:
    """Press keys until training has started, and wait until no job has anything to do."""
    progress = controller.progress

    def held() -> bool:
        if progress.labels_to_start and not controller.labelling.flash_timer.isActive():
            press_oracle_key(controller, window)
        return controller.course.holding and {"rollout", "reward", "policy", "clips"} <= set(controller.waits)

    wait(held, 300)
    wait_seconds(_SETTLE_SECONDS)
    wait(held, 300)


def main() -> None:
    arguments = parser(__doc__, seconds=(600.0, "seconds measured"))
    arguments.add_argument("--session", type=Path, help="folder of the session, which is kept; made if it is missing")
    options = arguments.parse_args()
    with application() as (_, scratch):
        folder = options.session or scratch / "session"
        session = Session.open(folder) if folder.exists() else Session.create(folder, session_config(_TASK))
        controller, window = show(session)
        controller.start()
        answer_until_held(controller, window)
        before = processor_seconds()
        wait_seconds(options.seconds)
        percent = {name: 100 * (now - before[name]) / options.seconds for name, now in processor_seconds().items()}
        result = {
            "seconds": options.seconds,
            "labels": controller.progress.labels,
            "held": controller.course.holding,
            "percent": {name: round(used, 2) for name, used in percent.items()},
            "all": round(sum(percent.values()), 2),
        }
        close(window)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
