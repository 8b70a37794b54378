"""The ablations of the paper's section 3.3: what each one changes in a session's config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
        {"query.first_share": 1.0, "query.first_labels": 0, "rollout.explore": 0},
    ),
    "no-regularization": Ablation("fit without weight decay; dropout stays (3.3)", {"reward.l2": 0.0}),
    "no-segments": Ablation("compare single steps", {"query.segment_steps": 1}),
    "target": Ablation("fit to the true returns of segments instead of to comparisons", {"reward.target": "returns"}),
}
"""By the name of the flag."""
