"""Does the fitted reward lead where the true one would? Of the last policy of a robot's session, with noise.

    .venv/bin/python tests/benchmarks/agreement.py SESSION ...

It prints one JSON object for each: the true return; the true reward of each tenth of the episode, on average; and how
predicted and true reward correlate, step by step, by episodes, and in the advantages that the policy would learn from,
each with a value function that is fitted to it here. Where the last is near 1 and the return is poor, the policy is in
a local optimum of the true reward, too.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.config import Config
from core.envs import make
from core.jobs.acting import Actor
from core.policy.advantages import advantages
from core.records import Float32
from core.reward.ensemble import normalised
from core.seeding import generator
from core.tasks import find
from core.taught import _ensemble, _learned

_ROBOTS, _PASSES, _STEPS, _MINIBATCH = 192, 4, 150, 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sessions", nargs="+", type=Path)
    for folder in parser.parse_args().sessions:
        print(json.dumps({"session": folder.name, **_of(folder)}), flush=True)


def _of(folder: Path) -> dict[str, object]:
    config, states = _learned(folder)
    seen, actions, true = _episodes(config, states["policy"].arrays)
    predicted = normalised(_ensemble(config, states["reward"]).predict(seen, actions), 1.0)
    gains = [_advantages(config, seen, rewards) for rewards in (predicted, normalised(true[None], 1.0))]
    return {
        "task": config.task,
        "true_return": round(float(true.sum(0).mean()), 2),
        "by_tenths": [round(float(part.mean()), 3) for part in np.array_split(true, 10)],
        "steps": _correlation(predicted, true),
        "episodes": _correlation(predicted.sum(0), true.sum(0)),
        "advantages": _correlation(*gains),
    }


def _episodes(config: Config, weights: dict[str, np.ndarray]) -> tuple[Float32, Float32, Float32]:
    """One episode of each robot: observations (T, N, o), what was carried out (T, N, a), true rewards (T, N)."""
    task = find(config.task)
    env = make(task, _ROBOTS, generator(config.seed, "agreement"), staggered=False)
    actor = Actor(config, generator(config.seed, "agreement's actions"))
    actor.load(weights)
    seen, carried_out, rewards = [], [], []
    for _ in range(task.episode_steps):
        seen.append(env.observations.copy())
        actions, _ = actor(env.observations)
        carried_out.append(np.clip(actions, -1, 1))
        env.begin(actions)
        rewards.append(env.step(actions).true_rewards)
    env.close()
    seen_of_all, done = np.stack(seen).astype(np.float32), np.stack(carried_out).astype(np.float32)
    return seen_of_all, done, np.stack(rewards).astype(np.float32)


def _advantages(config: Config, seen: Float32, rewards: Float32) -> Float32:
    """(T, N), by a value function that is fitted to the episodes' own returns, from rewards of deviation 1."""
    torch.manual_seed(config.seed)
    inputs = torch.as_tensor((seen - seen.mean((0, 1))) / (seen.std((0, 1)) + 1e-6)).flatten(0, 1)
    layers = [torch.nn.Linear(inputs.shape[1], 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(64, 1), torch.nn.Flatten(0))
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
    values = np.zeros_like(rewards)
    for _ in range(_PASSES):
        targets = torch.as_tensor(_gains(config, rewards, values) + values).flatten()
        for _ in range(_STEPS):
            rows = torch.randint(len(targets), (_MINIBATCH,))
            loss = (network(inputs[rows]) - targets[rows]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            values = network(inputs).numpy().reshape(rewards.shape)
    return _gains(config, rewards, values)


def _gains(config: Config, rewards: Float32, values: Float32) -> Float32:
    following = np.concatenate([values[1:], values[-1:]])
    no_end = np.zeros(rewards.shape, bool)
    return advantages(rewards, values, following, no_end, config.policy.discount, config.policy.gae_lambda)


def _correlation(one: Float32, other: Float32) -> float:
    return round(float(np.corrcoef(one.ravel(), other.ravel())[0, 1]), 3)


if __name__ == "__main__":
    main()
