"""Named sets of config changes: what suits each policy optimizer, and the ablations of the paper.

Changes are given as to `core.config.replaced`. Imports little, since the window uses them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Changes = Mapping[str, Any]

ALGORITHM_PRESETS: dict[str, dict[str, Any]] = {
    "ppo": {},  # the defaults of the config
    "trpo": {
        "policy.discount": 0.995,  # A.1, as is the next
        "policy.gae_lambda": 0.97,
        # It moves the policy once per batch, so batches are small.
        "rollout.environments": 64,
        "rollout.steps": 32,
        "policy.minibatch": 256,
        "policy.epochs": 5,
    },
    "a2c": {
        "policy.discount": 0.99,  # A.2, as are all of these but reward.interval
        "policy.gae_lambda": 1.0,  # n-step returns
        "rollout.environments": 16,
        "rollout.steps": 5,
        "policy.learning_rate": 7e-4,
        "reward.interval": 2000,  # fitting after each batch of 80 steps would take most of the time
        "policy.vision": "nature",
        "policy.decay": 0.625,  # to zero after 80 million steps; the paper's runs took 50 million
    },
}
DEFAULT: dict[str, Any] = {
    "query.schedule": "answers",
    "query.first_labels": 15,
    "query.candidates": 10,
    "query.pool": 1024,
    "query.pool_old": 0.5,
    "query.rest": 20,
    "query.alike": 0.3,
    "rollout.steps_per_answer": 20_000,
    "rollout.finish_steps": 700_000,
    "rollout.environments": 256,
    "rollout.steps": 48,
    "reward.members": 5,
    "reward.bonus": 1.0,
    "reward.novelty": 1.0,
    "reward.novelty_steps": 600_000,
    "reward.error_rate": 0.2,
    "reward.holdout": 0.0,
    "reward.l2": 3e-3,
    "reward.l2_rate": 1.0,
    "reward.epochs": 3,
    "policy.decay": 0.9,
    "policy.entropy_bonus": 0.003,
    "policy.lag": 1,
}
"""Settings for every robot and behaviour, taught by a person's answers."""
PRESETS = ("task", "default")
_ALGORITHM_SETTINGS = {
    "policy.lag",  # only PPO learns as well from batches of an older policy
    "policy.excess_penalty",  # only PPO has it
    *(name for preset in ALGORITHM_PRESETS.values() for name in preset),
}
"""Settings chosen for one optimizer, which another one does not inherit from a task."""


def merge_presets(task: Changes, paper: Changes, algorithm: object = None) -> dict[str, Any]:
    """Combine a task's presets with those of an optimizer.

    task: the presets of a task, found with its own algorithm (PPO unless it names another)
    paper: the paper's numbers for the task, used if `algorithm` is another one; the task's values for settings of the
        algorithm are then dropped
    algorithm: an optimizer, or None for the task's own; validated by the config
    """
    own = task.get("policy.algorithm", "ppo")
    chosen = own if algorithm is None else str(algorithm)
    if chosen != own:
        task = {name: value for name, value in task.items() if name not in _ALGORITHM_SETTINGS} | dict(paper)
    return {**ALGORITHM_PRESETS.get(chosen, {}), **task, "policy.algorithm": chosen}


@dataclass(frozen=True)
class Ablation:
    """One modification of the method (paper 3.3)."""

    help: str
    changes: Changes


ABLATIONS: dict[str, Ablation] = {
    "random-queries": Ablation("ask about pairs chosen at random", {"query.selection": "random"}),
    "no-ensemble": Ablation(
        "fit a single predictor, and ask about pairs chosen at random",
        # A single predictor has no disagreement to select queries by (3.3), nor to reward.
        {"reward.members": 1, "reward.bonus": 0.0, "query.selection": "random"},
    ),
    "no-online-queries": Ablation(
        "ask all questions at the beginning, about the untrained policy",
        {"query.first_share": 1.0, "query.first_labels": 0, "rollout.exploration_steps": 0},
    ),
    "no-regularization": Ablation("fit without weight decay; dropout stays (3.3)", {"reward.l2": 0.0}),
    "no-segments": Ablation("compare single steps", {"query.segment_steps": 1}),
    "target": Ablation("fit to the true returns of segments instead of to comparisons", {"reward.target": "returns"}),
}
"""By the name of their command line flag."""
