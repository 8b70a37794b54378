"""The peers' side of optimizers_pair.py: optimizers of stable-baselines3 and sb3-contrib on the same backflip.

Runs in an environment of its own, `.venv-sb3`. Each algorithm has its library's default settings; where an update takes
2,048 steps by default, eight environments collect them, which is faster than one. Observations and rewards are
normalized, as in the libraries' tuned settings for MuJoCo tasks. Prints one JSON line.
"""

from __future__ import annotations

import json
import time

import numpy as np
from sb3_contrib import TRPO
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from tests.benchmarks.backflip_env import TASK, prepare

_EPISODES = 100
"""Number of finished episodes in the mean return, as in core."""
_ENVIRONMENTS = {"ppo": 8, "trpo": 8, "a2c": 16}
_CLASSES = {"ppo": PPO, "trpo": TRPO, "a2c": A2C}
_STEPS = {"ppo": 256, "trpo": 256, "a2c": 5}
"""Steps of each environment in an update: 2,048 in total for PPO and TRPO."""


def build(algorithm: str, seed: int) -> BaseAlgorithm:
    venv = VecNormalize(make_vec_env(TASK, n_envs=_ENVIRONMENTS[algorithm], seed=seed))
    kind, steps = _CLASSES[algorithm], _STEPS[algorithm]
    return kind("MlpPolicy", venv, n_steps=steps, seed=seed, device="cpu", stats_window_size=_EPISODES)


def measure(algorithm: str, steps: int, seed: int) -> dict[str, float | int | None]:
    """Train and measure. Returns are taken before normalization."""
    model = build(algorithm, seed)
    started = time.perf_counter()
    model.learn(steps)
    seconds = time.perf_counter() - started
    returns = [episode["r"] for episode in model.ep_info_buffer or ()]
    return {
        "steps": model.num_timesteps,
        "seconds": round(seconds, 2),
        "steps_per_second": round(model.num_timesteps / seconds, 1),
        "true_return": round(float(np.mean(returns)), 2) if returns else None,
    }


if __name__ == "__main__":
    print(json.dumps(measure(**prepare())))
