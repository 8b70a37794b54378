"""Small whole runs, and what is compared of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from core.config import Config
from core.events import (
    Event,
    PolicyPublished,
    PolicyUpdated,
    PreferenceAdded,
    RewardPublished,
)
from core.headless.run import HeadlessRun, Outcome
from core.session.session import Session
from core.types import Choice

TASK = "hopper-backflip"


class Taught:
    """A run, its events in order, and the parameters it ended with."""

    def __init__(self, folder: Path, config: Config, apart: bool = False) -> None:
        self.session = Session.open(folder) if folder.exists() else Session.create(folder, config)
        self.events: list[Event] = []
        self.run = HeadlessRun(self.session, self.events.append, apart=apart)

    def all(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def save_once_it_learns(self) -> None:
        """A checkpoint, the first, of when the policy has just learned from a batch."""
        while not self.all(PolicyUpdated):
            self.run.cycle()
        self.run.save()

    def close(self) -> None:
        self.run.close()
        self.session.close()

    def finished(self) -> Outcome:
        outcome = self.run.run()
        self.close()
        return outcome

    def parameters(self) -> dict[str, np.ndarray]:
        """Of the last policy, and of the last reward where there is one."""
        found = {f"policy {n}": a for n, a in self.all(PolicyPublished)[-1].weights.items()}
        rewards = self.all(RewardPublished)
        return found | ({f"reward {n}": a for n, a in rewards[-1].weights.items()} if rewards else {})


Teach = Callable[..., Taught]


def same(one: Taught, other: Taught) -> bool:
    mine, its = one.parameters(), other.parameters()
    return mine.keys() == its.keys() and all(np.array_equal(mine[name], its[name]) for name in mine)


def tape(taught: Taught) -> list[str]:
    return [type(event).__name__ for event in taught.events]


def stopped_and_resumed(teach: Teach, cycles: int, **changes: Any) -> tuple[Taught, Outcome]:
    stopped = teach("stopped", **changes)
    for _ in range(cycles):
        stopped.run.cycle()
    stopped.run.save()
    stopped.close()
    resumed = teach("stopped")
    return resumed, resumed.finished()


def choices(taught: Taught) -> list[tuple[int, Choice]]:
    return [(p.preference.query.id, p.preference.choice) for p in taught.all(PreferenceAdded)]


def garbage(physics: Any) -> np.ndarray:
    return np.random.default_rng(1).normal(0, 1e6, len(physics.positions))
