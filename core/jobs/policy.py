"""The policy job: improves the policy on each batch and publishes it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from core.config import Config
from core.envs.spaces import sizes
from core.events import Event, JobState, PolicyPublished, PolicyUpdated, RolloutBatchReady, Waited, require_count
from core.policy.a2c import A2C
from core.policy.actor_critic import ActorCritic
from core.policy.on_policy import UpdateReport
from core.policy.ppo import PPO
from core.policy.trpo import TRPO
from core.rollout.actor import build_policy
from core.seeding import generator, get_rng_state, set_rng_state
from core.tasks import get_task

_ARRAYS = tuple(field.name for field in fields(RolloutBatchReady) if field.name not in ("policy_version", "env_steps"))


class PolicyJob:
    """Publishes version 0 at once, then one version a batch."""

    def __init__(self, config: Config) -> None:
        self._rng = generator(config.seed, "policy")
        self._optimizer = make_optimizer(build_policy(config), config, self._rng)
        self._size = sizes(config)[0]
        self._batches: deque[RolloutBatchReady] = deque()
        self._version = 0
        self._env_steps: int | None = 0
        self._keeps_batches = get_task(config.task).pictures is None
        """In its state. One of pictures takes 60 MB, and is lost where a session stops."""

    def receive(self, event: Event) -> None:
        if isinstance(event, RolloutBatchReady):
            self._batches.append(event)

    def run(self) -> Iterator[Event | None]:
        yield self._published()
        while True:
            if not self._batches:
                yield Waited("policy", "the policy waits for the next rollouts")
                continue
            batch = self._batches.popleft()
            yield from self._update(batch)
            yield self._published()

    def _update(self, batch: RolloutBatchReady) -> Iterator[Event | None]:
        started = time.perf_counter()
        reports: list[UpdateReport] = []
        for report in self._optimizer.update(batch):
            reports.append(report)
            yield None
        self._optimizer.observe(batch.observations)
        self._version += 1
        self._env_steps = batch.env_steps
        seconds = time.perf_counter() - started
        last = reports[-1]
        yield PolicyUpdated(
            self._version, batch.env_steps, last.kl, last.entropy, last.value_loss, len(reports), seconds
        )

    def _published(self) -> PolicyPublished:
        weights = self._optimizer.network.to_arrays()
        return PolicyPublished(self._version, weights, self._env_steps, len(self._batches))

    def get_state(self) -> JobState:
        values: dict[str, Any] = {
            "version": self._version,
            "env_steps": self._env_steps,
            "rng": get_rng_state(self._rng),
        }
        batches = self._batches if self._keeps_batches else ()
        values["batches"] = [[batch.policy_version, batch.env_steps] for batch in batches]
        arrays = {f"batch_{i}_{name}": getattr(batch, name) for i, batch in enumerate(batches) for name in _ARRAYS}
        return JobState({**self._optimizer.get_state(), **arrays}, values)

    def set_state(self, state: JobState) -> None:
        self._optimizer.set_state(state.arrays)
        self._version = require_count(state.values["version"])
        set_rng_state(self._rng, state.values["rng"])
        taken = state.values.get("env_steps")  # checkpoints from before this was kept don't have it
        self._env_steps = None if taken is None else require_count(taken)
        for i, (version, env_steps) in enumerate(state.values.get("batches", ())):
            arrays = {name: state.arrays[f"batch_{i}_{name}"] for name in _ARRAYS}
            batch = RolloutBatchReady(require_count(version), require_count(env_steps), **arrays)
            self._require_fitting(batch)
            if np.isfinite(batch.rewards).all():  # else it would end each new start as it ended the last
                self._batches.append(batch)

    def _require_fitting(self, batch: RolloutBatchReady) -> None:
        """ValueError for arrays that are of no one batch of this task."""
        steps, count, size = batch.observations.shape
        ends = int(batch.ends.sum())
        flat = {array.shape for array in (batch.log_probs, batch.rewards, batch.ends, batch.actions[..., 0])}
        after = batch.last_observations.shape, batch.end_observations.shape
        if flat != {(steps, count)} or after != ((count, size), (ends, size)) or size != self._size:
            raise ValueError("a batch that waited has another shape")


class PolicyOptimizer(Protocol):
    """What improves a policy; see OnPolicyOptimiser for what each method does."""

    network: ActorCritic

    def update(self, batch: RolloutBatchReady) -> Iterator[UpdateReport]: ...
    def observe(self, observations: np.ndarray) -> None: ...
    def get_state(self) -> dict[str, Any]: ...
    def set_state(self, arrays: Mapping[str, Any]) -> None: ...


OPTIMISERS: dict[str, Callable[[ActorCritic, Config, np.random.Generator], PolicyOptimizer]] = {
    "ppo": PPO,
    "trpo": TRPO,
    "a2c": A2C,
}


def make_optimizer(network: ActorCritic, config: Config, rng: np.random.Generator) -> PolicyOptimizer:
    """The optimizer that config.policy.algorithm names; it draws from rng and moves the network's weights."""
    return OPTIMISERS[config.policy.algorithm](network, config, rng)
