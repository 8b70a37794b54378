"""All environments of a session and those who act in them: one crew, or two that take turns with a half each.

While one half is simulated the other's step is looked at and put away, and neither waits for the other in any step.
What is gathered is the same where the second crew has a process of its own (core.jobs.collector_process).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from core.config import Config
from core.envs import make_envs, make_share, shares, threads_of_share
from core.envs.base import CaptureSchedule, VectorEnv
from core.envs.split_env import divided, parts_of, united
from core.events import Arrays, JobState, require_count
from core.reward.ensemble import RewardEnsemble
from core.reward.image_ensemble import ImageEnsemble
from core.rollout.actor import Actor
from core.rollout.collector import Collector, RolloutBatch, collect
from core.rollout.segments import SegmentBuilder
from core.seeding import generator, get_rng_state, set_rng_state
from core.tasks import get_task
from core.tasks.base import RobotTask, Task
from core.types import Float32

Ensemble = RewardEnsemble | ImageEnsemble
_FILM_ONE_IN = 4
"""Where segments must be filmed: of so many in a row one is, so that training isn't spent on drawing."""
_ENV, _CUTTER = "env_", "cutter_"


class CollectorGroup(Protocol):
    """All environments of a session, with those who act in them."""

    @property
    def drawable(self) -> int:
        """Numbers in a row of what a clip is drawn from."""
        ...

    @property
    def divergences(self) -> int: ...

    def load(self, weights: Arrays) -> None:
        """Of the policy to act by."""
        ...

    def collect(self, env_steps: int) -> Iterator[RolloutBatch | None]:
        """A batch; yields None now and then, and the result last. env_steps: the session's count at its start."""
        ...

    def predict(self, collected: RolloutBatch, ensemble: Ensemble) -> Float32:
        """(M, T, N) each member's rewards for the batch that was gathered last."""
        ...

    def get_state(self) -> JobState: ...
    def set_state(self, state: JobState) -> None: ...
    def close(self) -> None: ...


class LocalCollectors:
    """The crews `numbers` of all, in this process."""

    def __init__(self, config: Config, stagger: np.ndarray, numbers: Sequence[int] | None = None) -> None:
        task = get_task(config.task)
        counts = shares(task, config.rollout.environments)
        self._numbers = range(len(counts)) if numbers is None else numbers
        self._config, self._all, self._crews = config, sum(counts), len(counts)
        self._env_rngs = [generator(config.seed, _named("environments", number)) for number in self._numbers]
        self._act_rngs = [generator(config.seed, _named("actions", number)) for number in self._numbers]
        self.env = self._made(task, counts)
        ends = np.cumsum(counts)
        self.actors = [Actor(config, rng) for rng in self._act_rngs]
        self.cutters = [
            SegmentBuilder(
                part,
                config.query.length(task.segment_steps),
                stagger[ends[number] - part.count : ends[number]],
                task.pictures,
                (number, len(counts)),
            )
            for number, part in zip(self._numbers, parts_of(self.env), strict=True)
        ]

    def _made(self, task: Task, counts: Sequence[int]) -> VectorEnv:
        acting = self._config.rollout
        if len(self._numbers) < len(counts):
            (number,), (rng,) = self._numbers, self._env_rngs
            own, _ = threads_of_share(task, acting.environments, acting.threads)
            return make_share(task, counts[number], rng, own)
        length = self._config.query.length(task.segment_steps)
        film = CaptureSchedule(acting.captured_envs, length, _FILM_ONE_IN) if acting.captured_envs else None
        return make_envs(task, acting.environments, self._env_rngs, acting.threads, film=film)

    @property
    def drawable(self) -> int:
        return self.env.sizes[2]

    @property
    def divergences(self) -> int:
        return self.env.divergences

    def load(self, weights: Arrays) -> None:
        for actor in self.actors:
            actor.load(weights)

    def collect(self, env_steps: int) -> Iterator[RolloutBatch | None]:
        asked = self._config.teacher != "none"
        crews = [
            Collector(part, actor, cutter if asked else None)
            for part, actor, cutter in zip(parts_of(self.env), self.actors, self.cutters, strict=True)
        ]
        return collect(crews, self._config.rollout.steps, env_steps, self._all)

    def predict(self, collected: RolloutBatch, ensemble: Ensemble) -> Float32:
        """For these crews, whose rows come first. A robot's have theirs predicted apart, as they have where each does
        so itself: how many rows there are decides how their sums are rounded."""
        robots = isinstance(get_task(self._config.task), RobotTask)
        ends = np.cumsum([part.count for part in parts_of(self.env)] if robots else [self._all]).tolist()
        rows = [slice(first, end) for first, end in pairwise([0, *ends])]
        seen, actions = collected.observations, collected.carried_out
        return np.concatenate([ensemble.predict(seen[:, own], actions[:, own]) for own in rows], axis=2)

    def get_state(self) -> JobState:
        cut = united([cutter.get_state() for cutter in self.cutters])
        arrays = {f"{_ENV}{name}": value.copy() for name, value in self.env.get_state().items()}
        arrays |= {f"{_CUTTER}{name}": value.copy() for name, value in cut.items()}
        values: dict[str, Any] = {}
        for number, cutter, env_rng, act_rng in self._each():
            values |= {
                _named("env_rng", number): get_rng_state(env_rng),
                _named("act_rng", number): get_rng_state(act_rng),
            }
            values[_named("next_id", number)] = cutter.next_id
        return JobState(arrays, values)

    def _each(self) -> Iterator[tuple[int, SegmentBuilder, np.random.Generator, np.random.Generator]]:
        return zip(self._numbers, self.cutters, self._env_rngs, self._act_rngs, strict=True)

    def set_state(self, state: JobState) -> None:
        self.env.set_state(state.under(_ENV))
        cut = divided(state.under(_CUTTER), [part.count for part in parts_of(self.env)])
        for (number, cutter, env_rng, act_rng), own in zip(self._each(), cut, strict=True):
            next_id = _last_id(state.values, number, self._crews)
            cutter.set_state(own, next_id)
            for name, rng in (("env_rng", env_rng), ("act_rng", act_rng)):
                if kept := state.values.get(_named(name, number)):  # an earlier version had one for all
                    set_rng_state(rng, kept)

    def close(self) -> None:
        self.env.close()


def _named(name: str, number: int) -> str:
    """As it was called where there was one of it for all."""
    return f"{name}_{number}" if number else name


def _last_id(values: Mapping[str, Any], number: int, crews: int) -> int:
    """The number of a crew's last segment. An earlier version counted those of all crews together."""
    if _named("next_id", crews - 1) in values:
        return require_count(values[_named("next_id", number)])
    last = require_count(values["next_id"])
    return last + (number - last) % crews


def gathered(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Those of the environments and their crews, among all of a rollout job's state."""
    return {name: array for name, array in arrays.items() if name.startswith((_ENV, _CUTTER))}
