"""The policy job: improves the policy on each batch and publishes it."""

from collections import deque
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from core.config import Config
from core.envs.spaces import spaces
from core.events import BATCH_PREFIX, Event, Job, JobState, PolicyPublished, RewardPublished, RolloutBatchReady, Waited
from core.nn.state import state_arrays
from core.policy.a2c import A2C
from core.policy.actor_critic import ActorCritic
from core.policy.on_policy import OnPolicyOptimizer
from core.policy.ppo import PPO
from core.policy.sac import SAC
from core.policy.squashed_policy import SquashedPolicy
from core.policy.trpo import TRPO
from core.rollout.actor import build_policy
from core.rollout.replayed_reward import PredictedReward, TrueReward
from core.seeding import generator, get_rng_state, set_rng_state
from core.session.job_states import KEPT_REWARD
from core.tasks import get_task
from core.types import Teacher, require_count

OPTIMIZERS: dict[str, type[OnPolicyOptimizer]] = {"ppo": PPO, "trpo": TRPO, "a2c": A2C}
_SCALARS = ("policy_version", "env_steps", "learning_rate_scale", "bonus", "novelty")
_ARRAYS = tuple(field.name for field in fields(RolloutBatchReady) if field.name not in _SCALARS)


class PolicyJob(Job):
    """Publishes the untrained or restored policy first, and then a new version after each batch."""

    def __init__(self, config: Config) -> None:
        self._rng = generator(config.seed, "policy")
        network = build_policy(config)
        self._reward: PredictedReward | None = None
        self._optimizer: OnPolicyOptimizer | SAC
        if isinstance(network, SquashedPolicy):
            if config.teacher != Teacher.NONE:
                self._reward = PredictedReward(config)
            self._optimizer = SAC(network, config, self._rng, self._reward or TrueReward())
        else:
            assert isinstance(network, ActorCritic)
            self._optimizer = OPTIMIZERS[config.policy.algorithm](network, config, self._rng)
        self._observation_size = spaces(config).observations
        self._batches: deque[RolloutBatchReady] = deque()
        self._version = 0
        self._env_steps = 0
        self._saves_batches = get_task(config.task).pictures is None
        """True if waiting batches are part of the state. A batch of images takes 60 MB, and is lost when a session stops."""

    def receive(self, event: Event) -> None:
        match event:
            case RolloutBatchReady():
                self._batches.append(event)
            case RewardPublished(weights) if self._reward is not None:
                self._reward.load(weights)

    def run(self) -> Iterator[Event | None]:
        yield self._published()
        while True:
            if not self._batches:
                yield Waited("policy", "the policy waits for the next rollouts")
                continue
            yield from self._update(self._batches.popleft())
            yield self._published()

    def _update(self, batch: RolloutBatchReady) -> Iterator[Event | None]:
        for _ in self._optimizer.update(batch):
            yield None
        self._optimizer.observe(batch.observations)
        self._version += 1
        self._env_steps = batch.env_steps

    def _published(self) -> PolicyPublished:
        weights = state_arrays(self._optimizer.network)
        return PolicyPublished(self._version, weights, self._env_steps, len(self._batches))

    def get_state(self) -> JobState:
        values: dict[str, Any] = {"version": self._version, "env_steps": self._env_steps}
        batches = self._batches if self._saves_batches else ()
        values["rng"] = get_rng_state(self._rng)
        values["batches"] = [[getattr(batch, name) for name in _SCALARS] for batch in batches]
        arrays = {
            f"{BATCH_PREFIX}{i}_{name}": getattr(batch, name) for i, batch in enumerate(batches) for name in _ARRAYS
        }
        reward = self._reward.get_state() if self._reward is not None else {}
        arrays |= {f"{KEPT_REWARD}{name}": array for name, array in reward.items()}
        return JobState({**self._optimizer.get_state(), **arrays}, values)

    def set_state(self, state: JobState) -> None:
        """Restore the state from `get_state`. Raises KeyError or ValueError if it does not fit the task."""
        self._optimizer.set_state(state.arrays)
        self._version, self._env_steps = (require_count(state.values[name]) for name in ("version", "env_steps"))
        set_rng_state(self._rng, state.values["rng"])
        if self._reward is not None and (reward := state.under(KEPT_REWARD)):  # a policy taken over has none
            self._reward.load(reward)
        for i, (version, env_steps, *scalars) in enumerate(state.values["batches"]):
            arrays: dict[str, Any] = {name: state.arrays[f"{BATCH_PREFIX}{i}_{name}"] for name in _ARRAYS}
            scale, bonus, novelty = map(float, scalars)
            batch = RolloutBatchReady(
                require_count(version),
                require_count(env_steps),
                **arrays,
                learning_rate_scale=scale,
                bonus=bonus,
                novelty=novelty,
            )
            self._require_shapes(batch)
            if np.isfinite(batch.rewards).all():  # otherwise it would stop the session again at every start
                self._batches.append(batch)

    def _require_shapes(self, batch: RolloutBatchReady) -> None:
        """Raise ValueError unless the arrays have the shapes of one batch of this task."""
        steps, count, size = batch.observations.shape
        ends = int(batch.ends.sum())
        per_step = {array.shape for array in (batch.log_probs, batch.rewards, batch.ends, batch.actions[..., 0])}
        after = batch.last_observations.shape, batch.end_observations.shape
        if per_step != {(steps, count)} or after != ((count, size), (ends, size)) or size != self._observation_size:
            raise ValueError("a saved batch has another shape")
