"""Helpers for tests of child processes: waiting for messages, finding processes, counting what is left open."""

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
    """Return the next event of this kind that is wanted. Any failure that is not waited for fails the test."""
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
    """Wait until the process has ended, or waits only for its parent to notice."""
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
    """Return the number of this process's open descriptors. Memory files have no name, and go with their last one.

    Descriptors of garbage are closed first: an earlier test's, and the two that multiprocessing keeps with each process
    that it remembers. It forgets some later, so that there may be fewer after a test than before it.
    """
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def left_open_falls_to(count: int) -> bool:
    """Wait until no more descriptors are open, as a process that was killed may take a moment to end."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        multiprocessing.active_children()  # takes note of those that have ended
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
