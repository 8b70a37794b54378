"""A toy problem for the reward trainer: random segments, and a true reward that is linear in the observation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from core.config import RewardConfig
from core.nn.state import state_arrays
from core.reward.ensemble import RewardEnsemble
from core.reward.normalization import normalize_reward
from core.reward.trainer import EpochReport, RewardTrainer
from core.types import Choice, Preference, Query
from tests.core.builders import ACTED, OBSERVED, Arrays, preference, query

TOY = np.random.default_rng(99).standard_normal(OBSERVED)


def new_trainer(seed: int = 0, rng: np.random.Generator | None = None, **settings: Any) -> RewardTrainer:
    """Return a trainer with three small members; settings: of RewardConfig."""
    plain: dict[str, Any] = {"members": 3, "hidden": 16, "learning_rate": 3e-3, "minibatch": 32, "l2": 1e-4}
    config = RewardConfig(**{**plain, **settings})
    ensemble = RewardEnsemble(OBSERVED + ACTED, config, torch.Generator().manual_seed(seed))
    return RewardTrainer(ensemble, config, rng or np.random.default_rng(seed), torch.device("cpu"))


def toy_preferences(first: int, count: int) -> list[Preference]:
    """Return preferences with ids first to first + count - 1; each id always has the same segments and choice."""
    return [preference(i, _toy_choice(query(i)), query(i)) for i in range(first, first + count)]


def _toy_choice(pair: Query) -> Choice:
    left, right = ((s.observations @ TOY).sum() for s in (pair.left, pair.right))
    return Choice.LEFT if left > right else Choice.RIGHT


def shuffled(preferences: list[Preference]) -> list[Preference]:
    """Return the same preferences with the choices in a random order."""
    order = np.random.default_rng(5).permutation(len(preferences))
    return [preference(p.id, preferences[i].choice, p.query) for p, i in zip(preferences, order, strict=True)]


def with_returns(preferences: list[Preference]) -> list[Preference]:
    """Return the same preferences with the true returns of both sides, for the target ablation."""
    sums = [[float((s.observations @ TOY).sum()) for s in (p.query.left, p.query.right)] for p in preferences]
    return [replace(p, returns=(left, right)) for p, (left, right) in zip(preferences, sums, strict=True)]


def train(trainer: RewardTrainer, preferences: list[Preference], epochs: int) -> list[EpochReport]:
    """Add the preferences and train; return the reports of the epochs."""
    for each in preferences:
        trainer.add(each)
    return [report for report in trainer.epochs(epochs) if report is not None]


def accuracy(trainer: RewardTrainer, preferences: list[Preference]) -> float:
    """Return the share of pairs that the members' mean ranks as chosen."""
    returns = [trainer.ensemble.predicted_returns([p.query.left, p.query.right]).mean(0) for p in preferences]
    return float(
        np.mean([(r[0] > r[1]) == (p.choice is Choice.LEFT) for r, p in zip(returns, preferences, strict=True)])
    )


def rank_correlation(trainer: RewardTrainer) -> float:
    """Return Spearman's correlation of predicted and true reward for single states outside the segments."""
    rng = np.random.default_rng(123)
    observations = rng.standard_normal((2000, OBSERVED)).astype(np.float32)
    actions = rng.uniform(-1, 1, (2000, ACTED)).astype(np.float32)
    predicted = normalize_reward(trainer.ensemble.predict(observations, actions), 1.0)
    ranks = [values.argsort().argsort() for values in (predicted, observations @ TOY)]
    return float(np.corrcoef(*ranks)[0, 1])


def weights(trainer: RewardTrainer) -> Arrays:
    return state_arrays(trainer.ensemble.network)
