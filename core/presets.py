"""Settings that suit each policy optimizer. Light: the window chooses by them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "ppo": {},  # the defaults of the config are for PPO
    "trpo": {
        "policy.discount": 0.995,  # A.1, like the next
        "policy.gae_lambda": 0.97,
        # One step of the policy a batch: small batches, or a session is over after few steps.
        "rollout.environments": 64,
        "rollout.steps": 32,
        "policy.minibatch": 256,
        "policy.epochs": 5,
    },
    "a2c": {
        "policy.discount": 0.99,  # A.2, like all that follows
        "policy.gae_lambda": 1.0,  # returns of n steps
        "rollout.environments": 16,
        "rollout.steps": 5,
        "policy.learning_rate": 7e-4,
        "reward.interval": 2000,  # a round after each batch of 80 steps would be most of the work
        "policy.vision": "nature",
        "policy.decay": 0.625,  # to zero after 80 million steps, of which the paper's runs took 50
    },
}
_OF_ALGORITHMS = {"policy.lag", "policy.excess_penalty"} | {name for preset in PRESETS.values() for name in preset}
"""Settings that belong to the algorithm: of a policy that has moved on PPO alone learns as well, and it alone has the
penalty."""


def presets(task: Mapping[str, Any], paper_presets: Mapping[str, Any], algorithm: object = None) -> dict[str, Any]:
    """Config changes, as for config.replaced, for a task with these presets and these numbers of the paper's.

    algorithm None: the task's own, PPO where it names none. With another, what the task says of _OF_ALGORITHMS is
    left out, since it was found for its own, and the paper's numbers go before the rest. Whether there is such an
    algorithm is the config's to say.
    """
    own = task.get("policy.algorithm", "ppo")
    chosen = own if algorithm is None else str(algorithm)
    if chosen == own:
        return {**PRESETS.get(chosen, {}), **task, "policy.algorithm": chosen}
    fitting = {name: value for name, value in task.items() if name not in _OF_ALGORITHMS}
    return {**PRESETS.get(chosen, {}), **fitting, **paper_presets, "policy.algorithm": chosen}


@dataclass(frozen=True)
class Ablation:
    """One modification of the method. changes: as for config.replaced."""

    help: str
    changes: Mapping[str, Any]


ABLATIONS: dict[str, Ablation] = {
    "random-queries": Ablation("ask about pairs chosen at random", {"query.selection": "random"}),
    # One predictor disagrees with nothing, so its queries are random too (3.3), and no disagreement is rewarded.
    "no-ensemble": Ablation(
        "fit a single predictor, and ask about pairs chosen at random",
        {"reward.members": 1, "reward.bonus": 0.0, "query.selection": "random"},
    ),
    "no-online-queries": Ablation(
        "ask all at the beginning, of the untrained policy",
        {"query.first_share": 1.0, "query.first_labels": 0, "rollout.exploration_steps": 0},
    ),
    "no-regularization": Ablation("fit without weight decay; dropout stays (3.3)", {"reward.l2": 0.0}),
    "no-segments": Ablation("compare single steps", {"query.segment_steps": 1}),
    "target": Ablation("fit to the true returns of segments instead of to comparisons", {"reward.target": "returns"}),
}
"""By the name of the flag."""
