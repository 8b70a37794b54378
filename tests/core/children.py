"""Helpers for tests of child processes: waiting for messages, finding processes, counting open descriptors."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import psutil

from core.events import Event, Failed, RolloutBatchReady
from core.jobs.job_process import JobProcess
from core.system.child_process import ChildProcess

SECONDS = 60.0
"""Far more than anything here takes; a test that waits for so long fails."""

Start = Callable[..., JobProcess]


def next_of(process: ChildProcess, kind: type[Event], wanted: Callable[[Any], bool] = lambda _: True) -> Any:
    """Wait for the next wanted event of this kind, and return it. Any other failure event fails the test."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        envelope = process.receive(1.0)
        if envelope is not None:
            with closing(envelope):
                event = envelope.decode()
            if isinstance(event, kind) and wanted(event):
                return event
            assert not isinstance(event, Failed), event
    raise AssertionError(f"no {kind.__name__} came")


def pid_of(name: str) -> int:
    """Return the process id of this process's running child of that name."""
    (pid,) = [child.pid for child in multiprocessing.active_children() if child.name == f"somersault-{name}"]
    return pid


def is_gone(pid: int) -> bool:
    """Return whether the process ends, or becomes a zombie, in time."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def left_open() -> int:
    """Return the number of open descriptors of this process. Memory files have no name, and end with their last one.

    Descriptors of garbage are closed first: those of earlier tests, and the two that multiprocessing keeps for each
    process that it remembers. It drops some later, so there may be fewer after a test than before it.
    """
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def left_open_falls_to(count: int) -> bool:
    """Return whether the number of open descriptors falls to this in time; a killed process may take a moment to end."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        multiprocessing.active_children()  # reaps processes that have ended
        if left_open() <= count:
            return True
        time.sleep(0.01)
    return False


def batch(size: int = 64) -> RolloutBatchReady:
    rng = np.random.default_rng(0)
    observations = rng.standard_normal((4, size, 16)).astype(np.float32)
    actions, ends = rng.standard_normal((4, size, 3)).astype(np.float32), np.zeros((4, size), np.bool_)
    rewards = actions[..., 0]
    log_probs = (-0.5 * (actions**2).sum(2) - 1.5 * np.log(2 * np.pi)).astype(np.float32)
    none = np.zeros((0, 16), np.float32)
    return RolloutBatchReady(0, 4 * size, observations, actions, log_probs, rewards, ends, none, observations[0])
