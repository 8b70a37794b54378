"""Agreement of fitted and true reward on the last policy of a robot's session, with noise.

    .venv/bin/python -m tests.benchmarks.agreement SESSION ...

Prints one JSON object for each session: the true return; the mean true reward in each tenth of the episode; and the
correlation of predicted and true reward by step, by episode and in the advantages that the policy would learn from,
each with a value function fitted here. If the correlation in advantages is near 1 and the return is poor, the policy is
in a local optimum of the true reward as well.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from core.api import fitted_ensemble, load_session
from core.config import Config
from core.envs import make_envs
from core.nn.stacked_mlp import CPU
from core.policy.actor_critic import ActorCritic
from core.policy.gae import advantages
from core.reward.normalization import normalize_reward
from core.rollout.actor import Actor, build_policy
from core.rollout.collector import RolloutBatch, at_once, collect
from core.seeding import generator
from core.tasks import get_task
from core.types import Float32

_ROBOTS, _PASSES, _STEPS, _MINIBATCH = 192, 4, 150, 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="+", type=Path, help="session folders of a robot")
    for folder in parser.parse_args().sessions:
        print(json.dumps({"session": folder.name, **_of(folder)}), flush=True)


def _of(folder: Path) -> dict[str, object]:
    config, states = load_session(folder)
    played = _episodes(config, states["policy"].arrays)
    true = played.true_rewards
    ensemble = fitted_ensemble(config, states["reward"])
    predicted = normalize_reward(ensemble.predict(played.observations, played.carried_out), 1.0)
    gains = [_gains(config, played, rewards) for rewards in (predicted, normalize_reward(true[None], 1.0))]
    return {
        "task": config.task,
        "true_return": round(float(true.sum(0).mean()), 2),
        "by_tenths": [round(float(part.mean()), 3) for part in np.array_split(true, 10)],
        "steps": _correlation(predicted, true),
        "episodes": _correlation(predicted.sum(0), true.sum(0)),
        "advantages": _correlation(*gains),
    }


def _episodes(config: Config, weights: dict[str, np.ndarray]) -> RolloutBatch:
    """Collect one whole episode of each of the robots."""
    task = get_task(config.task, config.true_reward)
    env = make_envs(task, _ROBOTS, generator(config.seed, "agreement"), staggered=False)
    actor = Actor(config, generator(config.seed, "agreement's actions"))
    actor.load(weights)
    played = at_once(collect(env, actor, task.episode_steps))
    env.close()
    return played


def _gains(config: Config, played: RolloutBatch, rewards: Float32) -> Float32:
    """Compute (T, N) advantages from rewards (T, N) of standard deviation 1, with a value function fitted to their returns."""
    torch.manual_seed(config.seed)
    seen = played.observations
    # The observation after the last step is the last row: its value counts, because an episode ends at a time limit.
    rows = np.concatenate([seen, played.end_observations[None]])
    inputs = torch.as_tensor((rows - seen.mean((0, 1))) / (seen.std((0, 1)) + 1e-6), dtype=torch.float32)
    network = build_policy(config, CPU)  # only its value function is used
    network.enable_gradients()
    values = np.zeros(inputs.shape[:-1], np.float32)
    for _ in range(_PASSES):
        targets = _judged(config, played, rewards, values) + values[:-1]
        _fit(network, inputs[:-1].flatten(0, 1), torch.as_tensor(targets))
        with torch.no_grad():
            values = network.values(inputs.flatten(0, 1)).numpy().reshape(values.shape)
    return _judged(config, played, rewards, values)


def _judged(config: Config, played: RolloutBatch, rewards: Float32, values: Float32) -> Float32:
    """Compute (T, N) advantages from values (T + 1, N), the last row of which follows the last step."""
    policy = config.policy
    return advantages(rewards, values[:-1], values[1:], played.ends, policy.discount, policy.gae_lambda)


def _fit(network: ActorCritic, inputs: torch.Tensor, targets: torch.Tensor) -> None:
    optimizer = torch.optim.Adam(network.value_parameters, lr=2e-3)
    wanted = targets.flatten()
    for _ in range(_STEPS):
        rows = torch.randint(len(wanted), (_MINIBATCH,))
        loss = (network.values(inputs[rows]) - wanted[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _correlation(one: Float32, other: Float32) -> float:
    return round(float(np.corrcoef(one.ravel(), other.ravel())[0, 1]), 3)


if __name__ == "__main__":
    main()
