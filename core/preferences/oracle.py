"""The synthetic labeller: judges by the true reward alone (paper 3.1).

As configured by default it is the paper's: it prefers the segment with the larger true return, says that two are tied
where the returns are equal, and never errs. OracleConfig turns it into the teachers of B-Pref (Lee et al., 2021):
skipping, equal, stochastic (beta), mistaken and myopic, in that order of precedence: a skipped query is not judged, a
tie is not mistaken.

B-Pref takes the thresholds for skipping and for ties as shares of the policy's mean return, which means something where
no reward is below zero. Here both are shares of how far the mean return of the pool's segments lies above that of the
worst segment in it: the same where the worst return is 0, and meaningful for any reward. Since no more than all of the
pool can lie below its mean, an oracle that skips never skips everything.
"""

from __future__ import annotations

import math

import numpy as np

from core.config import Config, OracleConfig
from core.errors import NotFiniteError, UserError
from core.seeding import generator
from core.types import Answer, Choice, Float32, PoolReturns, Query, Segment


def answer(query: Query, config: Config) -> Answer:
    """The oracle's answer, which depends on nothing but the query, its id, and the session's config and seed.

    So the same question has the same answer after a resume, with no state to keep. UserError where the task has no
    true reward.
    """
    left, right = _rewards(query.left), _rewards(query.right)
    told = (_return(left), _return(right)) if config.reward.target == "returns" else None
    return Answer(_choice(query, left, right, config), told)


def pool_returns(segments: list[Segment], config: OracleConfig) -> PoolReturns | None:
    """What the thresholds are shares of; None where they are 0, or there are no segments with true rewards."""
    returns = [_return(s.true_rewards) for s in segments if s.true_rewards is not None]
    if not returns or not (config.skip or config.equal):
        return None
    return PoolReturns(min(returns), math.fsum(returns) / len(returns))


def _choice(query: Query, left: Float32, right: Float32, config: Config) -> Choice:
    limits, oracle = query.pool_returns, config.oracle
    scale = limits.mean - limits.worst if limits else 0.0
    returns = _return(left), _return(right)
    if limits and max(returns) < limits.worst + oracle.skip * scale:
        return Choice.CANT_TELL
    difference = _return(left, oracle.myopia) - _return(right, oracle.myopia)
    if not math.isfinite(difference):
        raise NotFiniteError("oracle", "the true reward")
    if abs(returns[0] - returns[1]) < oracle.equal * scale or difference == 0:
        return Choice.TIE
    prefers_left = _prefers_left(difference, oracle, generator(config.seed, f"oracle {query.id}"))
    return Choice.LEFT if prefers_left else Choice.RIGHT


def _prefers_left(difference: float, oracle: OracleConfig, rng: np.random.Generator) -> bool:
    """Both numbers are always drawn, so that one option does not change what another one does."""
    chance, slip = rng.random(2)
    meant = chance < _sigmoid(oracle.beta * difference) if oracle.beta else difference > 0
    return bool(meant != (slip < oracle.mistakes))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, x))))


def _return(rewards: Float32, weight: float = 1.0) -> float:
    """(k,) true rewards -> their sum; `weight` is that of each step relative to the one after it."""
    weights = weight ** np.arange(len(rewards) - 1, -1, -1, dtype=np.float64)
    return float((rewards * weights).sum())


def _rewards(segment: Segment) -> Float32:
    if segment.true_rewards is None:
        raise UserError("This task has no true reward for an oracle to judge by: choose the human teacher.")
    return segment.true_rewards
