"""A sleeping laptop: all processes are suspended, then resumed one by one, and the clock may be set back."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.e2e.killable import kept
from tests.processes import kill
from tests.screens import ROOT, running

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows can't hold a process still")
_NAP_SECONDS = 2.0
"""Longer than any time the program waits for a child before it ends it."""
_ANSWERS = 2
_WINDOW = """
import sys, time
from pathlib import Path
true_time, set_back = time.time, Path(sys.argv[2])
time.time = lambda: true_time() - (7200 if set_back.exists() else 0)
if __name__ == "__main__":
    from tests.e2e.killable import window
    window(Path(sys.argv[1]))
"""


def nap(program: subprocess.Popen[str], rng: random.Random) -> None:
    """Suspend the program's processes one after another, and resume them in another order."""
    family = [psutil.Process(program.pid), *psutil.Process(program.pid).children(recursive=True)]
    for number in (signal.SIGSTOP, signal.SIGCONT):
        rng.shuffle(family)
        for process in family:
            with suppress(psutil.NoSuchProcess):  # a short-lived process
                process.send_signal(number)
            time.sleep(rng.uniform(0, 0.2))
        time.sleep(_NAP_SECONDS if number == signal.SIGSTOP else 0)


def answers(program: subprocess.Popen[str]) -> str:
    """Return the next answers that the program shows."""
    lines = [program.stdout.readline() for _ in range(_ANSWERS)]
    assert all(lines), "it ended by itself"
    return "".join(lines)


@pytest.mark.slow
def test_a_session_continues_after_sleep_and_with_the_clock_set_back(tmp_path: Path) -> None:
    script, folder, set_back = tmp_path / "window.py", tmp_path / "s", tmp_path / "set back"
    script.write_text(_WINDOW)
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(folder), str(set_back)]
    rng = random.Random(5)
    with (
        (tmp_path / "complaints").open("w") as complaints,
        running(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=complaints) as program,
    ):
        shown = answers(program)
        nap(program, rng)
        set_back.touch()
        shown += answers(program)
        lines = kill(program, shown)
    there = kept(folder)
    assert len(lines) >= 2 * _ANSWERS and set(lines) <= set(there)
    assert [int(answer.split()[0]) for answer in there] == list(range(1, len(there) + 1))
    said = (tmp_path / "complaints").read_text()
    assert "can't go on" not in said and "process:" not in said and "Traceback" not in said
