"""Inputs on which the predicted reward of policies depends, compared with the true reward; for sessions of robots.

    .venv/bin/python -m tests.benchmarks.reward_sources SESSION [OTHER ...]

Plays the untrained policy of SESSION, its last policy, and the last policy of each OTHER session of the same task, and
judges all of them by the reward fitted in SESSION. Prints one JSON object for each policy: mean true reward of a step,
mean predicted reward, its mean for each member, and correlation of both rewards. `sources` are the inputs that change the
predicted reward most in comparison with the untrained policy: by how much, and how far the policy moved the input. Both
are by a linear fit to the predicted reward, whose share of the variance is `linear`. Predicted rewards and inputs are
in standard deviations of a step, over all policies and over the answered clips.

A source that the true reward does not reward is an error of the fit that the policy exploits.
"""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.api import fitted_ensemble, load_session
from core.config import Config
from core.errors import UserError
from core.events import Arrays
from core.jobs.collectors import Collectors
from core.portable.observation import observation_numbers
from core.reward.ensemble import RewardEnsemble
from core.reward.normalization import standardize_members
from core.robots.models import load_model
from core.rollout.collector import at_once
from core.session.policy_snapshots import snapshots_of
from core.tasks import get_task
from core.tasks.base import RobotTask
from core.types import Float32, Float64

_ENVIRONMENTS, _STEPS = 64, 200
_SHOWN = 8
"""Sources printed for each policy."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("session", type=Path, metavar="SESSION")
    parser.add_argument("others", type=Path, nargs="*", metavar="OTHER")
    args = parser.parse_args()
    config, states = load_session(args.session)
    task, ensemble = get_task(config.task), fitted_ensemble(config, states["reward"])
    if not isinstance(task, RobotTask) or not isinstance(ensemble, RewardEnsemble):
        raise UserError(f"{args.session} does not teach a robot: name a session that does.")
    names = [number["name"] for number in observation_numbers(task, load_model(task))]
    names += [f"action {i}" for i in range(len(ensemble.mean) - len(names))]
    played = {f"{args.session}, untrained": played_steps(args.session, config, first=True)}
    played |= {str(folder): played_steps(folder, config) for folder in (args.session, *args.others)}

    raw = standardize_members(np.concatenate([ensemble.predict(o, a) for o, a, _ in played.values()], axis=1))
    inputs = np.concatenate([ensemble.inputs(o, a) for o, a, _ in played.values()])
    moved = ((inputs - ensemble.mean.numpy()) / ensemble.std.numpy()).reshape(len(inputs), -1, len(names))
    slopes, linear = linear_fit(moved.reshape(-1, len(names)), raw.mean(0).ravel())
    untrained = moved[:_STEPS].mean((0, 1))
    for index, (name, (_, _, true)) in enumerate(played.items()):
        steps = slice(index * _STEPS, (index + 1) * _STEPS)
        change = moved[steps].mean((0, 1)) - untrained
        largest = np.argsort(-np.abs(slopes * change))[:_SHOWN]
        figures = {
            "policy": name,
            "true": round(float(true.mean()), 3),
            "predicted": round(float(raw[:, steps].mean()), 3),
            "members": [round(float(member.mean()), 2) for member in raw[:, steps]],
            "correlation": round(float(np.corrcoef(raw[:, steps].mean(0).ravel(), true.ravel())[0, 1]), 2),
            "sources": {names[i]: [round(float(v), 2) for v in (slopes[i] * change[i], change[i])] for i in largest},
            "linear": round(linear, 2),
        }
        print(json.dumps(figures))


def played_steps(folder: Path, config: Config, first: bool = False) -> tuple[Float32, Float32, Float32]:
    """Return observations (T, N, o), actions (T, N, a) and true rewards (T, N) of the session's first or last saved policy."""
    snapshots = snapshots_of(folder, config)
    _, weights = snapshots.load(snapshots.env_steps()[0 if first else -1])
    return _play(config, weights)


def _play(config: Config, weights: Arrays) -> tuple[Float32, Float32, Float32]:
    rollout = replace(config.rollout, environments=_ENVIRONMENTS, steps=_STEPS, varied_starts=0.0)
    with closing(Collectors(replace(config, rollout=rollout), np.zeros(_ENVIRONMENTS, np.int64))) as collectors:
        collectors.load_policy(weights)
        batch = at_once(collectors.collect(0))
    return np.asarray(batch.observations, np.float32), batch.actions, batch.true_rewards


def linear_fit(inputs: Float32, targets: Float32) -> tuple[Float64, float]:
    """Fit targets (n,) to inputs (n, i); return the slope of each input (i,) and the share of variance explained."""
    rows = np.column_stack([inputs, np.ones(len(inputs))])
    slopes = np.asarray(np.linalg.lstsq(rows, targets, rcond=None)[0], np.float64)
    return slopes[:-1], float(1 - np.var(targets - rows @ slopes) / np.var(targets))


if __name__ == "__main__":
    main()
