"""SIGKILL at any moment of labelling and training: every answer shown as taken is stored, and the session continues."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.killable import kept
from tests.processes import kill
from tests.screens import ROOT, running

_STARTING_SECONDS, _WORKING_SECONDS = 4.0, 3.0
_WHILE_STARTING = 0.2
"""Share of the kills that come while the program starts; the others when it has shown its first answer."""


def started(kind: str, folder: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.e2e.killable", kind, str(folder)]
    return running(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE)


def wait(program: subprocess.Popen[str], rng: random.Random) -> str:
    """Wait until a random moment while the program starts or works; return the output read by then."""
    starting = rng.random() < _WHILE_STARTING
    said = "" if starting else program.stdout.readline()
    time.sleep(rng.uniform(0, _STARTING_SECONDS if starting else _WORKING_SECONDS))
    return said


def killed_repeatedly(kind: str, folder: Path, times: int, rng: random.Random) -> int:
    """Return how many answers were shown. The same session is opened again after each kill."""
    shown: list[str] = []
    for number in range(times):
        with started(kind, folder) as program:
            said = wait(program, rng)
            assert program.poll() is None, f"start {number} ended by itself"
            shown += kill(program, said)
        there = kept(folder)
        assert set(shown) <= set(there), f"kill {number}: lost {set(shown) - set(there)}"
        print(f"{kind}: kill {number + 1}, {len(shown)} answers shown, {len(there)} on disk", flush=True)
        assert len(there) <= len(shown) + number + 1  # each kill may leave one answer on disk before it was printed
    return len(shown)


def continues(kind: str, folder: Path) -> None:
    before = kept(folder)
    with started(kind, folder) as program:
        while (line := program.stdout.readline().strip()) in before:  # a headless run reads those from the store again
            pass
        assert line
        kill(program)
    assert len(kept(folder)) > len(before)


@pytest.mark.parametrize("kind", [pytest.param("window", marks=pytest.mark.slow), "headless"])
def test_every_answer_shown_survives_a_kill(kind: str, tmp_path: Path) -> None:
    """test_sleep.py also kills a window."""
    folder = tmp_path / "s"
    assert killed_repeatedly(kind, folder, 1, random.Random(2))  # after the first answer
    continues(kind, folder)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["window", "headless"])
def test_many_kills_lose_no_answer_that_was_shown(kind: str, tmp_path: Path) -> None:
    """The environment variable SOMERSAULT_KILLS is the number of kills of each kind; 100 by default."""
    folder, kills = tmp_path / "s", int(os.environ.get("SOMERSAULT_KILLS", "100"))
    shown = killed_repeatedly(kind, folder, kills, random.Random(2))
    continues(kind, folder)
    print(f"{kind}: {kills} kills, {shown} answers shown, none lost")
    assert shown > kills


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes to kill")
@pytest.mark.parametrize("seconds", [10, 30, 90])
def test_a_killed_window_loses_at_most_half_a_minute_of_training(seconds: int, tmp_path: Path) -> None:
    """The window and all its children are killed this number of seconds after the first fit."""
    shown, fitted = list[tuple[float, int]](), None
    with started("learning", tmp_path / "s") as program:
        while fitted is None or time.monotonic() < fitted + seconds:
            kind, number = program.stdout.readline().split()
            if kind == "shown":
                shown.append((time.monotonic(), int(number)))
            elif fitted is None:
                fitted = time.monotonic()
        killed = time.monotonic()
        kill(program)
    before = max([steps for at, steps in shown if at <= killed - 30], default=0)
    with started("learning", tmp_path / "s") as program:
        while (line := program.stdout.readline().split())[0] != "shown":
            pass
        kill(program)
    print(
        f"killed {seconds} s after the first fit, at {shown[-1][1]:,} steps; half a minute before {before:,}",
        flush=True,
    )
    print(f"the first policy shown after that had taken {int(line[1]):,} steps", flush=True)
    assert before <= int(line[1])
    assert int(line[1]) > 0
