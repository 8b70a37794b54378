"""Seconds from starting a new session to its first pair on screen, and the cost of its child processes until then.

    xvfb-run -a -s '-screen 0 1600x1000x24' .venv/bin/python -m tests.benchmarks.first_pair

Runs the real window over real child processes. Prints one JSON object: seconds, the children's processor time in seconds,
and their memory in MB, shared pages counted once. Run it alternately with another version: machines and loads differ.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress

import psutil

from core.system.child_process import preload
from tests.benchmarks.windowed import application, close, create_session, parser, show, wait, wait_seconds


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--preloaded", type=float, default=0.0, help="seconds that the start page was open before")
    options = arguments.parse_args()
    with application() as (_, scratch):
        if options.preloaded:
            preload()
            wait_seconds(options.preloaded)
        controller, window = show(create_session(scratch / "session"))
        started = time.monotonic()
        controller.start()
        wait(lambda: controller.labelling.pairs.shown is not None)
        seconds = time.monotonic() - started
        processor = memory = 0.0
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                processor += sum(child.cpu_times()[:2])
                memory += child.memory_full_info().pss
        print(json.dumps({"seconds": round(seconds, 1), "processor": round(processor, 1), "mb": round(memory / 1e6)}))
        close(window)


if __name__ == "__main__":
    main()
