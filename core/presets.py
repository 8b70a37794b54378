"""Named sets of config changes: the defaults for all robots, the paper's settings, the optimizers', and ablations.

Changes are in the form that `core.config.replaced` takes. Imports little, since the window uses this module too.
"""

from __future__ import annotations

import math
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
    "sac": {  # not in the paper (docs/experiments/off-policy.md)
        "policy.hidden": 128,
        "policy.minibatch": 256,
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
    "query.first_labels": 22,
    "query.selection": "challenge",
    "query.candidates": 32,
    "query.pool": 1024,
    "query.pool_old": 0.5,
    "query.rest": 20,
    "query.alike": 0.6,
    "rollout.steps_per_answer": 20_000,
    "rollout.finish_steps": 2_000_000,
    "rollout.varied_starts": 0.25,
    "rollout.environments": 256,
    "rollout.steps": 48,
    "reward.inputs": "observation",  # as in a clip, which does not show actions
    "reward.members": 5,
    "reward.bonus": 1.0,
    "reward.novelty": 1.0,
    "reward.answer_interval": 3_300,
    "reward.error_rate": 0.2,
    "reward.holdout": 0.0,
    "reward.l2": 3e-3,
    "reward.l2_rate": 1.0,
    "reward.sparsity": 3.0,
    "reward.epochs": 3,
    "policy.decay": 0.9,
    "policy.entropy_bonus": 0.003,
    "policy.lag": 1,
}
"""Settings for every robot and behaviour, chosen for a human's answers. They suit PPO, the optimizer of this preset,
and SAC."""
PRESETS = ("default", "paper")

PAPER: dict[str, tuple[Any, str]] = {
    "reward.inputs": ("observation_action", "2.2.1"),
    "reward.members": (3, "A"),
    "reward.error_rate": (0.1, "2.2.3"),
    "reward.holdout": (math.exp(-1), "2.2.3"),  # set aside first; the bootstrap draws from the rest
    "reward.ratio_low": (1.1, "2.2.3"),
    "reward.ratio_high": (1.5, "2.2.3"),
    "reward.target": ("comparisons", "2.2.3"),
    "reward.steps_per_label": (10.0, "A.2"),  # A.1 has no number of its own
    "reward.epochs": (1, ""),
    "reward.last_layer_scale": (1.0, ""),
    "reward.sparsity": (0.0, ""),
    "reward.bonus": (0.0, ""),
    "reward.novelty": (0.0, ""),
    "query.selection": ("disagreement", "2.2.4"),
    "query.candidates": (10, "A"),
    "query.schedule": ("paper", "A"),
    "query.pool_old": (0.0, ""),
    "query.rest": (0, ""),
    "query.alike": (0.0, ""),
    "query.segment_steps": (0, "A.1, A.2"),  # the task's own: 1.5 s, or 25 steps in games
    "query.horizon": (0, "A"),
    "policy.lag": (0, ""),
}
"""The paper's settings for all tasks, each with its section; '' marks a choice that the paper does not specify.

Other settings keep the config's defaults, because the paper does not specify them: the reward's learning rate, minibatch
and initial weight decay, and for robots the epochs of the first fit.
"""
PAPER_ROBOT: dict[str, tuple[Any, str]] = {
    "labels": (700, "3.1.1"),
    "steps": (2_000_000, ""),
    "policy.algorithm": ("trpo", "2.2.1"),
    "policy.discount": (0.995, "A.1"),
    "policy.gae_lambda": (0.97, "A.1"),
    "policy.entropy_bonus": (0.01, "A.1"),  # the Swimmer has its own
    "policy.decay": (0.0, ""),
    "reward.hidden": (64, "A.1"),
    "reward.std": (1.0, "A.1"),
    "query.first_share": (0.25, "A.1"),
    "query.first_labels": (0, "A.1"),
    "query.half_life": (2e6, "A.1"),
}
PAPER_GAME: dict[str, tuple[Any, str]] = {
    "labels": (5500, "A.2"),
    "steps": (50_000_000, "A.2"),
    "policy.algorithm": ("a2c", "2.2.1"),
    "policy.vision": ("nature", "A.2"),
    "policy.discount": (0.99, "A.2"),
    "policy.entropy_bonus": (0.01, "A.2"),
    "policy.learning_rate": (7e-4, "A.2"),
    "policy.decay": (0.625, "A.2"),  # in 50 million steps; other sessions have another share (DECAYED_AT)
    "policy.rms_decay": (0.99, "A.2"),
    "policy.rms_epsilon": (1e-5, "A.2"),
    "rollout.environments": (16, "A.2"),
    "rollout.steps": (5, "A.2"),
    "reward.hidden": (64, "A.2"),
    "reward.std": (0.05, "A.2"),  # without effect, as A2C standardizes the advantages of each batch here
    "reward.dropout": (0.5, "A.2"),
    "reward.epochs_first": (200, "A"),
    "reward.max_labels": (3000, "A.2"),
    "query.first_labels": (0, ""),
    "query.first_share": (500 / 5500, "A.2"),  # 500, and as large a part of fewer labels
    "query.half_life": (1.25e6, "A.2"),  # 5 million frames, of which a step has four
}
DECAYED_AT = 80_000_000
"""Environment steps at which a game's learning rate, falling linearly from the start, reaches zero (A.2)."""
PAPER_BEHAVIOURS: dict[str, dict[str, Any]] = {  # 3.2
    "hopper-backflip": {"labels": 900, "query.segment_steps": 60},
    "half-cheetah-one-leg": {"labels": 800},
    "enduro-even": {"labels": 1300, "steps": 1_000_000},  # 4 million frames
}
LAGGING = frozenset({"ppo", "sac"})
"""Optimizers that learn as well from batches of an older policy, and for which the preset 'default' was chosen."""
_ALGORITHM_SETTINGS = {
    "policy.lag",
    *(name for preset in ALGORITHM_PRESETS.values() for name in preset),
}
"""Settings that are not taken from a task's presets for an optimizer that they were not chosen for."""


def merge_presets(task: Changes, paper: Changes, algorithm: object = None) -> dict[str, Any]:
    """Combine a task's presets with those of an optimizer.

    task: presets of a task, chosen for its own algorithm (PPO unless they name another)
    paper: the paper's settings for the task, used if those of the task were not chosen for `algorithm`; the task's values
        for settings specific to an optimizer are then dropped
    algorithm: an optimizer, or None for the task's own; validated by the config
    """
    own = task.get("policy.algorithm", "ppo")
    chosen = own if algorithm is None else str(algorithm)
    if chosen != own and not {chosen, own} <= LAGGING:
        task = {name: value for name, value in task.items() if name not in _ALGORITHM_SETTINGS} | dict(paper)
    return {**ALGORITHM_PRESETS.get(chosen, {}), **task, "policy.algorithm": chosen}


def paper_changes(task: str, game: bool, own: Changes) -> dict[str, Any]:
    """Return the config changes of the preset 'paper' for a game or for a robot.

    task: name of the task; own: the paper's settings for this task alone
    """
    numbers = {**PAPER, **(PAPER_GAME if game else PAPER_ROBOT)}
    return {name: value for name, (value, _) in numbers.items()} | dict(own) | PAPER_BEHAVIOURS.get(task, {})


@dataclass(frozen=True)
class Ablation:
    """One modification of the method (paper 3.3)."""

    help: str
    changes: Changes

    def undone_by(self, settings: Changes) -> list[tuple[str, Any]]:
        """Return the changes that these settings override with another value."""
        return [(name, value) for name, value in self.changes.items() if settings.get(name, value) != value]


ABLATIONS: dict[str, Ablation] = {
    "random-queries": Ablation("ask about pairs chosen at random", {"query.selection": "random"}),
    "no-ensemble": Ablation(
        "fit a single predictor, and ask about pairs chosen at random",
        # A single predictor has no disagreement to select queries by (3.3), nor to reward.
        {"reward.members": 1, "reward.bonus": 0.0, "query.selection": "random"},
    ),
    "no-online-queries": Ablation(
        "ask all pairs at the beginning, about the untrained policy",
        {
            "query.first_share": 1.0,
            "query.first_labels": 0,
        },
    ),
    "no-regularization": Ablation(
        "fit without weight decay and sparsity; dropout stays (3.3)", {"reward.l2": 0.0, "reward.sparsity": 0.0}
    ),
    "no-segments": Ablation("compare single steps", {"query.segment_steps": 1}),
    "target": Ablation("fit to the true returns of segments instead of to comparisons", {"reward.target": "returns"}),
}
"""Ablations by the name of their command-line flag."""
