"""The policy job: improves the policy on each batch and publishes it."""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from core.config import Config
from core.envs.spaces import sizes
from core.events import (
    Arrays,
    Event,
    Job,
    JobState,
    PolicyPublished,
    PolicyUpdated,
    RolloutBatchReady,
    Waited,
)
from core.nn.state import state_arrays
from core.policy.a2c import A2C
from core.policy.on_policy import OnPolicyOptimizer, UpdateReport
from core.policy.ppo import PPO
from core.policy.trpo import TRPO
from core.rollout.actor import build_policy
from core.seeding import generator, get_rng_state, set_rng_state
from core.tasks import get_task
from core.types import PolicyChange, require_count

OPTIMIZERS: dict[str, type[OnPolicyOptimizer]] = {"ppo": PPO, "trpo": TRPO, "a2c": A2C}
_SCALARS = ("policy_version", "env_steps", "learning_rate_scale", "change")
_ATTEMPT = "attempt_"
"""Prefix of a new policy's state while it is tried. Its names without it are the earlier policy's, which is still the session's."""
_ARRAYS = tuple(field.name for field in fields(RolloutBatchReady) if field.name not in _SCALARS)


class PolicyJob(Job):
    """Publishes version 0 at once, and then one version for each batch."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._rng = generator(config.seed, "policy")
        self._optimizer = self._untrained()
        self._observation_size = sizes(config)[0]
        self._batches: deque[RolloutBatchReady] = deque()
        self._version = 0
        self._env_steps = 0
        self._earlier: Arrays | None = None
        """State of the optimizer that was set aside."""
        self._began = 0
        """The first version of the present policy; batches of older ones are another policy's."""
        self._saves_batches = get_task(config.task).pictures is None
        """Whether waiting batches are part of the state. One of images takes 60 MB and is lost when a session stops."""

    def _untrained(self) -> OnPolicyOptimizer:
        return OPTIMIZERS[self._config.policy.algorithm](build_policy(self._config), self._config, self._rng)

    def receive(self, event: Event) -> None:
        match event:
            case RolloutBatchReady():
                self._batches.append(event)

    def run(self) -> Iterator[Event | None]:
        yield self._published()
        while True:
            if not self._batches:
                yield Waited("policy", "the policy waits for the next rollouts")
                continue
            yield from self._update(self._batches.popleft())
            yield self._published()

    def _update(self, batch: RolloutBatchReady) -> Iterator[Event | None]:
        started = time.perf_counter()
        self._change(batch.change)
        if batch.policy_version < self._began:
            self._optimizer.observe(batch.observations)
            yield self._taken(batch, UpdateReport(0.0, 0.0, 0.0), 0, started)
            return
        for epochs, report in enumerate(self._optimizer.update(batch), 1):  # noqa: B007 - the last ones are reported
            yield None
        self._optimizer.observe(batch.observations)
        yield self._taken(batch, report, epochs, started)

    def _change(self, change: PolicyChange) -> None:
        """Replaces the policy by an untrained one, or by the one that was set aside."""
        match change:
            case PolicyChange.NONE:
                return
            case PolicyChange.START_ANEW:
                self._earlier = self._optimizer.get_state()
                self._optimizer = self._untrained()
            case PolicyChange.STAY:
                self._earlier = None
                return
            case PolicyChange.RETURN if self._earlier is not None:
                self._optimizer.set_state(self._earlier)
                self._earlier = None
        self._began = self._version + 1

    def _taken(self, batch: RolloutBatchReady, report: UpdateReport, epochs: int, started: float) -> PolicyUpdated:
        """Counts a batch as used, and reports it. started: by the clock"""
        self._version += 1
        self._env_steps = batch.env_steps
        seconds = time.perf_counter() - started
        return PolicyUpdated(
            self._version, batch.env_steps, report.kl, report.entropy, report.value_loss, epochs, seconds
        )

    def _published(self) -> PolicyPublished:
        weights = state_arrays(self._optimizer.network)
        return PolicyPublished(self._version, weights, self._env_steps, len(self._batches))

    def get_state(self) -> JobState:
        values: dict[str, Any] = {"version": self._version, "env_steps": self._env_steps, "began": self._began}
        batches = self._batches if self._saves_batches else ()
        values["rng"] = get_rng_state(self._rng)
        values["batches"] = [[getattr(batch, name) for name in _SCALARS] for batch in batches]
        arrays = {f"batch_{i}_{name}": getattr(batch, name) for i, batch in enumerate(batches) for name in _ARRAYS}
        optimizer = self._optimizer.get_state()
        if self._earlier is not None:
            optimizer = {**self._earlier, **{f"{_ATTEMPT}{name}": array for name, array in optimizer.items()}}
        return JobState({**optimizer, **arrays}, values)

    def set_state(self, state: JobState) -> None:
        """Restores `get_state`. Raises KeyError or ValueError where it does not fit the task."""
        self._optimizer.set_state(state.arrays)
        if attempt := state.under(_ATTEMPT):
            self._earlier = self._optimizer.get_state()
            self._optimizer = self._untrained()
            self._optimizer.set_state(attempt)
        self._version, self._env_steps, self._began = (
            require_count(state.values[name]) for name in ("version", "env_steps", "began")
        )
        set_rng_state(self._rng, state.values["rng"])
        for i, (version, env_steps, scale, change) in enumerate(state.values["batches"]):
            arrays: dict[str, Any] = {name: state.arrays[f"batch_{i}_{name}"] for name in _ARRAYS}
            counts = require_count(version), require_count(env_steps)
            batch = RolloutBatchReady(*counts, **arrays, learning_rate_scale=float(scale), change=PolicyChange(change))
            self._require_shapes(batch)
            if np.isfinite(batch.rewards).all():  # otherwise it would stop the session again at each start
                self._batches.append(batch)

    def _require_shapes(self, batch: RolloutBatchReady) -> None:
        """Raises ValueError unless the arrays have the shapes of one batch of this task."""
        steps, count, size = batch.observations.shape
        ends = int(batch.ends.sum())
        per_step = {array.shape for array in (batch.log_probs, batch.rewards, batch.ends, batch.actions[..., 0])}
        after = batch.last_observations.shape, batch.end_observations.shape
        if per_step != {(steps, count)} or after != ((count, size), (ends, size)) or size != self._observation_size:
            raise ValueError("a saved batch has another shape")
