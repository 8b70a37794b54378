"""A toy for the reward fit: random segments, and a true reward that is linear in the observation."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch

from core.config import RewardConfig
from core.reward.ensemble import RewardEnsemble, normalize_reward
from core.reward.trainer import FitReport, RewardTrainer
from core.types import Choice, Preference, Query
from tests.core.builders import ACTED, OBSERVED, preference, query

T = TypeVar("T")
TOY = np.random.default_rng(99).standard_normal(OBSERVED)


def new_fit(seed: int = 0, **numbers: Any) -> RewardTrainer:
    plain: dict[str, Any] = {"members": 3, "hidden": 16, "learning_rate": 3e-3, "minibatch": 32, "l2": 1e-4}
    config = RewardConfig(**{**plain, **numbers})
    ensemble = RewardEnsemble((config.observed or OBSERVED) + ACTED, config, torch.Generator().manual_seed(seed))
    return RewardTrainer(ensemble, config, np.random.default_rng(seed), torch.device("cpu"))


def toy_choice(pair: Query) -> Choice:
    left, right = ((s.observations @ TOY).sum() for s in (pair.left, pair.right))
    return Choice.LEFT if left > right else Choice.RIGHT


def toy_preferences(first: int, count: int) -> list[Preference]:
    return [preference(i, toy_choice(query(i)), query(i)) for i in range(first, first + count)]


def shuffled(preferences: list[Preference]) -> list[Preference]:
    order = np.random.default_rng(5).permutation(len(preferences))
    return [preference(p.id, preferences[i].choice, p.query) for p, i in zip(preferences, order, strict=True)]


def told(preferences: list[Preference]) -> list[Preference]:
    """With the true returns of both sides, as the oracle tells them for the target ablation."""
    sums = [[float((s.observations @ TOY).sum()) for s in (p.query.left, p.query.right)] for p in preferences]
    return [replace(p, returns=(left, right)) for p, (left, right) in zip(preferences, sums, strict=True)]


def train(fit: RewardTrainer, preferences: list[Preference], epochs: int) -> list[FitReport]:
    for each in preferences:
        fit.add(each)
    return reports(fit, epochs)


def reports(fit: RewardTrainer, epochs: int) -> list[FitReport]:
    return [report for report in fit.epochs(epochs) if report is not None]


def returned(generator: Generator[None, None, T]) -> T:
    """What the generator returns at its end."""
    while True:
        try:
            next(generator)
        except StopIteration as end:
            value: T = end.value
            return value


def accuracy(fit: RewardTrainer, preferences: list[Preference]) -> float:
    """Share of pairs that the members' mean ranks as chosen."""
    sums = [fit.ensemble.segment_sums([p.query.left, p.query.right]).mean(0) for p in preferences]
    right = [(left > second) == (p.choice is Choice.LEFT) for (left, second), p in zip(sums, preferences, strict=True)]
    return float(np.mean(right))


def ranks(values: np.ndarray) -> np.ndarray:
    return values.argsort().argsort()


def rank_correlation(fit: RewardTrainer) -> float:
    """Spearman's, between predicted and true reward of single states that no segment held."""
    rng = np.random.default_rng(123)
    observations = rng.standard_normal((2000, OBSERVED)).astype(np.float32)
    actions = rng.uniform(-1, 1, (2000, ACTED)).astype(np.float32)
    predicted = normalize_reward(fit.ensemble.predict(observations, actions), 1.0)
    return float(np.corrcoef(ranks(predicted), ranks(observations @ TOY))[0, 1])


def weights(fit: RewardTrainer) -> dict[str, np.ndarray]:
    return fit.ensemble.network.to_arrays()


def copied(fit: RewardTrainer) -> dict[str, np.ndarray]:
    return {name: np.array(array) for name, array in fit.get_state().items()}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)
