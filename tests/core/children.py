"""What the tests of child processes share: a batch to learn from, and waiting for what a child tells."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil

from core.events import (
    Event,
    Failed,
    RolloutBatchReady,
)
from core.system.child_process import JobProcess

SECONDS = 60.0
"""Far more than anything here takes; a test that waits for so long fails."""

Start = Callable[..., JobProcess]


def next_of(process: JobProcess, kind: type[Event]) -> Any:
    """The next event of this kind; a failure that isn't waited for fails the test."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        event = process.receive(1.0)
        if isinstance(event, kind):
            return event
        assert not isinstance(event, Failed), event
    raise AssertionError(f"no {kind.__name__} came")


def is_gone(pid: int) -> bool:
    """Within the patience of these tests: it ended, or it waits only for its parent to notice."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def batch(size: int = 64) -> RolloutBatchReady:
    rng = np.random.default_rng(0)
    observations = rng.standard_normal((4, size, 12)).astype(np.float32)
    actions, ends = rng.standard_normal((4, size, 3)).astype(np.float32), np.zeros((4, size), np.bool_)
    rewards = actions[..., 0]
    log_probs = (-0.5 * (actions**2).sum(2) - 1.5 * np.log(2 * np.pi)).astype(np.float32)
    none = np.zeros((0, 12), np.float32)
    return RolloutBatchReady(0, 4 * size, observations, actions, log_probs, rewards, ends, none, observations[0])
