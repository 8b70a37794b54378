"""Time from the command to a drawn window, on a virtual screen of its own. Needs Xvfb and ImageMagick.

    .venv/bin/python -m tests.benchmarks.startup                                        the source
    .venv/bin/python -m tests.benchmarks.startup packaging/dist/somersault-*/somersault the bundle

Prints one JSON object: seconds until the screen shows more than a few colours, for each run after a first one that warms
the disk cache; and the processor time of the window's process until then, which depends little on other load.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.e2e.bundle import ROOT, environment, screen

_RUNS = 3
_DRAWN = 50
"""Colours on the screen: an empty one has one, a window with text has hundreds."""
_LONGEST = 120.0


def seconds_until_drawn(command: list[str], folder: Path, display: str) -> tuple[float, float]:
    """Return wall-clock and processor seconds until the window is drawn. Raises SystemExit if that never happens."""
    environ = environment(folder / "home", display)
    started = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, env=environ) as program:
        taken, colours = started, 0
        while colours < _DRAWN and time.monotonic() - started < _LONGEST:
            taken = time.monotonic()  # the picture is taken at this moment or shortly after
            colours = _colours(display)
        used = psutil.Process(program.pid).cpu_times()
        program.terminate()
    if colours < _DRAWN:
        raise SystemExit(f"no window was drawn within {_LONGEST:.0f} s")
    return taken - started, used.user + used.system


def _colours(display: str) -> int:
    command = ["import", "-display", display, "-window", "root", "-format", "%k", "info:"]
    return int(subprocess.check_output(command, text=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="*", default=[sys.executable, "-m", "app"], help="(default: the source)")
    command = parser.parse_args().command
    times = []
    with screen() as display:
        for _ in range(_RUNS + 1):
            with tempfile.TemporaryDirectory() as folder:
                times.append(seconds_until_drawn(command, Path(folder), display))
    warm, used = ([round(values[n], 2) for values in times[1:]] for n in (0, 1))
    summary = {"median": statistics.median(warm), "least": min(warm), "processor": statistics.median(used)}
    print(json.dumps({"command": command, "warm": warm, **summary, "load": round(os.getloadavg()[0], 1)}))


if __name__ == "__main__":
    main()
