"""A session that is repeatedly killed and stopped at random moments, and ends like an undisturbed one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest

from tests.core.builders import tiny
from tests.e2e.stoppable import forking, start

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows can't fork")
_TEACHERS = ("oracle", "person")
_WHOLE: dict[str, Any] = {
    "labels": 30,
    "steps": 8 * 32 * 320,  # more batches than thirty stops can reach
    "reward__epochs": 3,
    "policy__lag": 1,
}
"""A backflip of 81,920 steps in 320 batches with 30 answers: some six seconds on a quiet core."""
_SHORT = {**_WHOLE, "steps": 8 * 32 * 80}
"""The same with more batches than three stops can reach."""
_WHILE_STARTING, _STARTING_SECONDS = 0.2, 1.0
"""Share of the stops that come while the run starts, and their latest moment."""
_BATCHES, _BATCH_SECONDS = 5, 0.1
"""Batches after which the others come at the latest, and the time of about two: they come anywhere in a cycle."""


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    return forking()


def ended(context: ForkServerContext, folder: Path, **changes: Any) -> dict[str, Any]:
    """Return the final figures of a session."""
    process, pipe = start(context, folder, tiny(**changes))
    while not isinstance(said := pipe.recv(), dict):
        pass
    process.join()
    assert process.exitcode == 0
    return said


def in_memory() -> set[str]:
    """Return the names of the shared memory blocks of this system."""
    shared = Path("/dev/shm")
    return {path.name for path in shared.iterdir() if path.is_file()} if shared.exists() else set()


def stop_repeatedly(
    context: ForkServerContext, folder: Path, stops: int, rng: random.Random, **changes: Any
) -> list[int]:
    """Stop the session this number of times, by SIGKILL and SIGTERM in turn, first after a batch and before a checkpoint.

    Return the environment steps at which it was stopped, as far as they are known.
    """
    reached = []
    for number in range(stops):
        process, pipe = start(context, folder, tiny(**changes))
        if number and rng.random() < _WHILE_STARTING:
            time.sleep(rng.uniform(0, _STARTING_SECONDS))
        else:
            reached.append([pipe.recv() for _ in range(rng.randint(1, _BATCHES if number else 1))][-1])
            time.sleep(rng.uniform(0, _BATCH_SECONDS if number else 0))
        sent = signal.SIGTERM if number % 2 else signal.SIGKILL
        os.kill(process.pid, sent)
        process.join()
        pipe.close()
        assert process.exitcode in (-sent, 128 + sent), process.exitcode
    return reached


def assert_stops_change_nothing(context: ForkServerContext, place: Path, stops: int, seed: int, **changes: Any) -> None:
    chosen, shared = {"seed": seed, "teacher": _TEACHERS[seed % 2], **changes}, in_memory()
    whole = ended(context, place / "whole", **chosen)
    reached = stop_repeatedly(context, place / "stopped", stops, random.Random(seed), **chosen)
    figures = ended(context, place / "stopped", **chosen)
    print(
        f"seed {seed}: {stops} stops, at {reached} steps; {figures['labels']} answers, {figures['measure']}", flush=True
    )
    assert figures == whole
    assert in_memory() <= shared


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(5))
def test_thirty_stops_change_nothing(context: ForkServerContext, tmp_path: Path, seed: int) -> None:
    assert_stops_change_nothing(context, tmp_path, 30, seed, **_WHOLE)


@pytest.mark.slow
def test_a_few_stops_and_the_loss_of_all_checkpoints_change_nothing(context: ForkServerContext, tmp_path: Path) -> None:
    whole, folder = ended(context, tmp_path / "whole", seed=1, **_SHORT), tmp_path / "stopped"
    stop_repeatedly(context, folder, 3, random.Random(1), seed=1, **_SHORT)
    shutil.rmtree(folder / "checkpoints")
    assert ended(context, folder, seed=1, **_SHORT) == whole
