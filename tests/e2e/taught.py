"""Small whole runs, and functions that compare them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from core.config import Config
from core.events import Event, PolicyPublished, PreferenceAdded, RewardPublished
from core.headless.run import HeadlessRun, Outcome
from core.preferences.store import PreferenceStore
from core.session.session import Session
from core.types import Choice

TASK = "hopper-backflip"
SHORT: dict[str, Any] = {"labels": 12, "steps": 8 * 32 * 14, "seed": 1}
"""Fourteen batches instead of the 24 of `tiny`."""


class Taught:
    """A run, its events in order, and its final parameters."""

    def __init__(
        self, folder: Path, config: Config, apart: bool = False, threads: int = 1, checkpoint_seconds: float = 60.0
    ) -> None:
        self.session = Session.open(folder) if folder.exists() else Session.create(folder, config)
        self.events: list[Event] = []
        self.hook: Callable[[Event], None] = lambda event: None
        """Called with each event."""
        self.run = HeadlessRun(self.session, self._listen, threads, apart, checkpoint_seconds)
        self.outcome: Outcome | None = None

    def _listen(self, event: Event) -> None:
        self.events.append(event)
        self.hook(event)

    def all(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def updates(self) -> int:
        """Number of batches from which the policy has learned in this run, which begins with a published policy."""
        return len(self.all(PolicyPublished)) - 1

    def save_once_it_learns(self) -> None:
        """Save the first checkpoint after the policy's first update."""
        while not self.updates:
            self.run.cycle()
        self.run.save()

    def close(self) -> None:
        self.run.close()
        self.session.close()

    def finished(self) -> Outcome:
        self.outcome = self.run.run()
        self.close()
        return self.outcome

    def parameters(self) -> dict[str, np.ndarray]:
        """Return the parameters of the last policy and of the last reward, if any."""
        found = {f"policy {n}": a for n, a in self.all(PolicyPublished)[-1].weights.items()}
        rewards = self.all(RewardPublished)
        return found | ({f"reward {n}": a for n, a in rewards[-1].weights.items()} if rewards else {})


Teach = Callable[..., Taught]
Finished = Callable[..., Taught]


def same(one: Taught, other: Taught) -> bool:
    mine, its = one.parameters(), other.parameters()
    return mine.keys() == its.keys() and all(np.array_equal(mine[name], its[name]) for name in mine)


def tape(taught: Taught) -> list[str]:
    return [type(event).__name__ for event in taught.events]


def assert_resumes(teach: Teach, whole: Taught, cycles: int, **changes: Any) -> Taught:
    """Save a run after this number of cycles, end it two cycles later without saving, and resume it; return the resumed run.

    Requires that it ends like the whole run. No checkpoint is saved with 0 cycles.
    """
    stopped = teach("stopped", **changes)
    for _ in range(cycles):
        stopped.run.cycle()
    if cycles:
        stopped.run.save()
    for _ in range(2):
        stopped.run.cycle()
    answers = choices(stopped)
    stopped.close()
    resumed = teach("stopped")
    outcome, expected = resumed.finished(), whole.outcome
    assert expected is not None and (outcome.steps_taken < outcome.env_steps) == (cycles > 0)
    assert same(whole, resumed)
    assert outcome.labels == expected.labels and outcome.measure == expected.measure
    assert np.array_equal(outcome.true_return, expected.true_return, equal_nan=True)
    assert stored(resumed) == stored(whole) and stored(whole)[: len(answers)] == answers
    return resumed


def stored(taught: Taught) -> list[tuple[int, Choice]]:
    """Return query and choice of every answer in the store of a closed run."""
    with closing(PreferenceStore(taught.session.folder / "preferences", read_only=True)) as store:
        return [(preference.query.id, preference.choice) for preference in store.each()]


def choices(taught: Taught) -> list[tuple[int, Choice]]:
    return [(p.preference.query.id, p.preference.choice) for p in taught.all(PreferenceAdded)]


def garbage(physics: Any) -> np.ndarray:
    return np.random.default_rng(1).normal(0, 1e6, len(physics.positions))
