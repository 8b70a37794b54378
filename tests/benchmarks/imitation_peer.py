"""The `imitation` side of imitation_pair.py: its preference comparisons on the same backflip.

Runs in an environment of its own, whose pins conflict with the project's. Settings are those of the library's tutorial
on preference comparisons, except where marked. Prints one JSON line; everything else goes to stderr.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import deque
from typing import Any

import gymnasium
import numpy as np
from imitation.algorithms import preference_comparisons as pc
from imitation.policies.base import FeedForward32Policy, NormalizeFeaturesExtractor
from imitation.rewards.reward_nets import BasicRewardNet, RewardEnsemble
from imitation.util.networks import RunningNorm
from imitation.util.util import make_vec_env
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

from tests.benchmarks.backflip_env import TASK, prepare

_ENVIRONMENTS = 8
_MEMBERS = 3
_REPORTED_EPISODES = 20


class Tally:
    """Totals over all environments. Steps include those that the library takes only to fill its queries."""

    steps = 0
    backflips: deque[int] = deque(maxlen=_REPORTED_EPISODES)


class Reporter(gymnasium.Wrapper[np.ndarray, np.ndarray, np.ndarray, np.ndarray]):
    """Wrapper outside the time limit that records the end of each episode in `Tally`."""

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict]:
        result = self.env.step(action)
        Tally.steps += 1
        if result[3]:
            Tally.backflips.append(self.unwrapped.backflips)
        return result


def build_agent(venv: VecEnv, seed: int) -> PPO:
    return PPO(
        policy=FeedForward32Policy,
        policy_kwargs={
            "features_extractor_class": NormalizeFeaturesExtractor,
            "features_extractor_kwargs": {"normalize_class": RunningNorm},
        },
        env=venv,
        seed=seed,
        n_steps=2048 // venv.num_envs,
        batch_size=64,
        ent_coef=0.01,
        learning_rate=2e-3,
        clip_range=0.1,
        gae_lambda=0.95,
        gamma=0.97,
        n_epochs=10,
    )


def build(segment: int, iterations: int, seed: int) -> pc.PreferenceComparisons:
    """Build the comparisons. The ensemble (instead of one network), task and fragment length differ from the tutorial."""
    rng = np.random.default_rng(seed)
    venv = make_vec_env(TASK, rng=rng, n_envs=_ENVIRONMENTS, post_wrappers=[lambda env, _: Reporter(env)])
    spaces = venv.observation_space, venv.action_space
    reward = RewardEnsemble(
        *spaces, [BasicRewardNet(*spaces, normalize_input_layer=RunningNorm) for _ in range(_MEMBERS)]
    )
    agent = build_agent(venv, seed)
    return pc.PreferenceComparisons(
        pc.AgentTrainer(algorithm=agent, reward_fn=reward, venv=venv, exploration_frac=0.05, rng=rng),
        reward,
        num_iterations=iterations,
        fragmenter=pc.RandomFragmenter(warning_threshold=0, rng=rng),
        preference_gatherer=pc.SyntheticGatherer(rng=rng),
        reward_trainer=pc.EnsembleTrainer(pc.PreferenceModel(reward), pc.CrossEntropyRewardLoss(), epochs=3, rng=rng),
        fragment_length=segment,
        transition_oversampling=1,
        initial_comparison_frac=0.1,
        allow_variable_horizon=False,
        initial_epoch_multiplier=4,
        query_schedule="hyperbolic",
    )


def measure(steps: int, labels: int, segment: int, iterations: int, seed: int) -> dict[str, float | int | None]:
    """Train and measure. Steps are those taken: whole batches, and whole episodes where queries lack segments.

    Requests fewer steps than `steps`, because the library trains once more than it has iterations.
    """
    comparisons = build(segment, iterations, seed)
    started = time.perf_counter()
    comparisons.train(total_timesteps=steps * iterations // (iterations + 1), total_comparisons=labels)
    seconds = time.perf_counter() - started
    return {
        "steps": Tally.steps,
        "trained_steps": comparisons.trajectory_generator.algorithm.num_timesteps,
        "seconds": round(seconds, 2),
        "steps_per_second": round(Tally.steps / seconds, 1),
        "labels": len(comparisons.dataset),
        "backflips_per_episode": float(np.mean(Tally.backflips)) if Tally.backflips else None,
    }


def main() -> None:
    with contextlib.redirect_stdout(sys.stderr):
        result = measure(**prepare())
    print(json.dumps(result))


if __name__ == "__main__":
    main()
