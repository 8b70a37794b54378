"""The simulated person: a labeller with a human's errors, to measure what answers of a human can teach.

It judges by the true reward as the oracle does, and errs more often the more alike two segments are. Likeness is measured
by the rank u, from 0 to 1, of the difference of the two returns among the differences of pairs drawn at random from the
pool: P(wrong) = (1 - u)^(1 / (2v) - 1) / 2. The answer to two equal segments is a coin toss, and v is the share of wrong
answers over pairs drawn at random. Pairs on which the predictors disagree are more alike, so v is 0.8 of PersonConfig.wrong.
The pace is part of the schedule (core.preferences.schedule).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from core.config import Config
from core.errors import NotFiniteError
from core.preferences.oracle import require_rewards, true_return
from core.seeding import generator
from core.types import Answer, Choice, PoolReturns, Query, Segment

_QUANTILES = 33
_ASKED = 0.8
"""Share of wrong answers over random pairs, relative to pairs that are asked (docs/experiments/person.md)."""
_SAMPLE = 96
"""Number of segments of the pool from whose pairs the quantiles are computed."""


def pool_returns(segments: list[Segment]) -> PoolReturns | None:
    """Return the pool's true returns and the quantiles of their differences; None for fewer than two true returns."""
    returns = [true_return(s.true_rewards) for s in segments if s.true_rewards is not None]
    if len(returns) < 2:
        return None
    sample = returns[:: math.ceil(len(returns) / _SAMPLE)]
    differences = [abs(a - b) for a, b in combinations(sample, 2)]
    quantiles = np.quantile(differences, np.linspace(0, 1, _QUANTILES))
    return PoolReturns(min(returns), math.fsum(returns) / len(returns), tuple(quantiles.tolist()))


def answer(query: Query, config: Config) -> Answer:
    """Return the person's answer, a function of the query, its id, and the session's config and seed.

    Raises UserError for a task without a true reward and NotFiniteError for true rewards that are not finite.
    """
    person = config.person
    difference = true_return(require_rewards(query.left)) - true_return(require_rewards(query.right))
    if not math.isfinite(difference):
        raise NotFiniteError("person", "the true reward")
    quantiles = query.pool_returns.differences if query.pool_returns else ()
    rank = _rank(abs(difference), quantiles) if quantiles else 1.0
    # All numbers are always drawn, so that one setting does not change the effect of another.
    silent, even, slip, side = generator(config.seed, f"person {query.id}").random(4)
    if silent < person.cant_tell:
        return Answer(Choice.CANT_TELL)
    if even < 2 * person.ties * (1 - rank):
        return Answer(Choice.TIE)
    prefers_left = difference > 0 if difference else side < 0.5
    wrong = person.wrong > 0 and slip < 0.5 * (1 - rank) ** (0.5 / (_ASKED * person.wrong) - 1)
    return Answer(Choice.LEFT if prefers_left != wrong else Choice.RIGHT)


def _rank(difference: float, quantiles: Sequence[float]) -> float:
    """Return the share of the pool's pairs that differ less, from 0 to 1; pairs that differ as much count half."""
    ranks = np.linspace(0, 1, len(quantiles))
    if (equal := np.equal(quantiles, difference)).any():
        return float(ranks[equal].mean())
    return float(np.interp(difference, quantiles, ranks))
