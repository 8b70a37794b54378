"""Small problems on which a policy optimizer shows its effect within a second."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from core.config import Config, replaced
from core.events import RolloutBatchReady
from core.jobs.policy import OPTIMIZERS
from core.policy.actor_critic import ActorCritic, actor_critic
from core.policy.on_policy import OnPolicyOptimizer

ALGORITHMS = tuple(OPTIMIZERS)
_SMALL = {"hidden": 16, "learning_rate": 1e-2, "epochs": 5, "minibatch": 64, "entropy_bonus": 0.0, "target_kl": 1e9}


def optimizer(
    algorithm: str = "ppo",
    seed: int = 0,
    discrete: bool = False,
    rng: np.random.Generator | None = None,
    **settings: Any,
) -> OnPolicyOptimizer:
    """Return an optimizer for 2 observed numbers and 1 action, or a choice of 3. settings: of PolicyConfig, and steps."""
    steps = settings.pop("steps", 1_000_000)
    changes = {f"policy__{name}": value for name, value in {**_SMALL, "algorithm": algorithm, **settings}.items()}
    config = replaced(Config(), steps=steps, **changes)
    network = actor_critic(2, 3 if discrete else 1, discrete, config.policy, torch.Generator().manual_seed(seed))
    return OPTIMIZERS[algorithm](network, config, rng or np.random.default_rng(seed))


@torch.no_grad()
def acted(network: ActorCritic, observations: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return actions (N, a) and log probabilities (N,) for observations (N, o)."""
    distribution = network.distribution(network.normalize(torch.as_tensor(observations)))
    actions, log_probs = network.sample(distribution, rng)
    return actions.numpy(), log_probs.numpy()


def matching(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return rewards (N,): higher for actions nearer to the first observed number, or 1 for one choice of three."""
    if actions.shape[1] == 1:
        return -np.square(actions[:, 0] - observations[:, 0])
    wanted = np.digitize(observations[:, 0], [-0.43, 0.43])
    return (actions.argmax(1) == wanted).astype(np.float32)


def one_step(network: ActorCritic, seed: int, reward: Any = matching, count: int = 256) -> RolloutBatchReady:
    """Return a batch of one-step episodes."""
    rng = np.random.default_rng(seed)
    observations = rng.standard_normal((count, 2)).astype(np.float32)
    actions, log_probs = acted(network, observations, rng)
    rewards = np.asarray(reward(observations, actions), np.float32)
    ends = np.ones((1, count), np.bool_)
    return RolloutBatchReady(
        0, count, observations[None], actions[None], log_probs[None], rewards[None], ends, *2 * [observations]
    )


def drifting(
    network: ActorCritic, seed: int, factor: float = 1.0, steps: int = 64, count: int = 64
) -> RolloutBatchReady:
    """Return a batch of endless episodes: the first observed number drifts, is the reward, and ignores the actions."""
    rng = np.random.default_rng(seed)
    observations = np.zeros((steps + 1, count, 2), np.float32)
    observations[0] = rng.standard_normal((count, 2))
    for t in range(steps):
        observations[t + 1] = 0.9 * observations[t] + np.sqrt(1 - 0.9**2) * rng.standard_normal((count, 2))
    actions, log_probs = acted(network, observations[:-1].reshape(-1, 2), rng)
    return RolloutBatchReady(
        0,
        steps * count,
        observations[:-1],
        actions.reshape(steps, count, -1),
        log_probs.reshape(steps, count),
        factor * observations[:-1, :, 0],
        np.zeros((steps, count), np.bool_),
        np.zeros((0, 2), np.float32),
        observations[-1],
    )


def improve(made: OnPolicyOptimizer, batch: RolloutBatchReady) -> int:
    """Run one update, with the input normalization updated as in the policy job; return its number of parts."""
    parts = len(list(made.update(batch)))
    made.observe(batch.observations)
    return parts
