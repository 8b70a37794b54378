"""The policy job: improves the policy on each batch and publishes it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from core.config import Config
from core.disk import whole
from core.events import BatchCollected, Event, JobState, PolicyPublished, PolicyUpdated, Waited
from core.jobs.acting import untrained_policy
from core.policy.base import UpdateReport
from core.policy.factory import policy_optimiser
from core.seeding import generator, restored, saved


class PolicyJob:
    """Publishes version 0 at once, then one version a batch."""

    def __init__(self, config: Config) -> None:
        self._rng = generator(config.seed, "policy")
        self._optimiser = policy_optimiser(untrained_policy(config), config, self._rng)
        self._batches: deque[BatchCollected] = deque()
        self._version = 0
        self._env_steps: int | None = 0

    def receive(self, event: Event) -> None:
        if isinstance(event, BatchCollected):
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

    def _update(self, batch: BatchCollected) -> Iterator[Event | None]:
        started = time.perf_counter()
        reports: list[UpdateReport] = []
        for report in self._optimiser.update(batch):
            reports.append(report)
            yield None
        self._optimiser.observe(batch.observations)
        self._version += 1
        self._env_steps = batch.env_steps
        seconds = time.perf_counter() - started
        last = reports[-1]
        yield PolicyUpdated(
            self._version, batch.env_steps, last.kl, last.entropy, last.value_loss, len(reports), seconds
        )

    def _published(self) -> PolicyPublished:
        return PolicyPublished(self._version, self._optimiser.network.to_arrays(), self._env_steps)

    def get_state(self) -> JobState:
        values = {"version": self._version, "env_steps": self._env_steps, "rng": saved(self._rng)}
        return JobState(self._optimiser.get_state(), values)

    def set_state(self, state: JobState) -> None:
        self._optimiser.set_state(state.arrays)
        self._version = whole(state.values["version"])
        restored(self._rng, state.values["rng"])
        taken = state.values.get("env_steps")  # checkpoints from before this was kept don't have it
        self._env_steps = None if taken is None else whole(taken)
