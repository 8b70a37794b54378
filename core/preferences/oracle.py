"""The oracle: a synthetic labeller that judges only by the true reward (paper 3.1).

By default it is the paper's: it prefers the segment with the larger true return, answers with a tie if the returns are
equal, and never errs. OracleConfig turns it into the teachers of B-Pref (Lee et al., 2021): skipping, equal,
stochastic (beta), mistaken and myopic, in this order of precedence: a skipped query is not judged, and a tie is never
a mistake.

B-Pref defines the thresholds for skipping and ties as shares of the policy's mean return, which assumes that no reward
is negative. Here they are shares of the distance from the worst to the mean return in the pool of segments: the same if
the worst return is 0, and meaningful for any reward. Since not all of the pool can be below its mean, an oracle that
skips never skips everything.
"""

import math

import numpy as np

from core.config import Config, OracleConfig
from core.errors import NotFiniteError, UserError
from core.seeding import generator
from core.types import Answer, Choice, Float32, PoolReturns, Query, Segment


def answer(query: Query, config: Config) -> Answer:
    """Return the oracle's answer, a function of the query, its id, and the session's config and seed.

    So a query has the same answer after a resume, without saved state. Raises UserError for a task without a true
    reward and NotFiniteError for true rewards that are not finite.
    """
    left, right = require_rewards(query.left), require_rewards(query.right)
    returns = (true_return(left), true_return(right)) if config.reward.target == "returns" else None
    return Answer(_choice(query, left, right, config), returns)


def pool_returns(segments: list[Segment], config: OracleConfig) -> PoolReturns | None:
    """Return the worst and mean true return of the pool, which scale the thresholds.

    None if config.skip and config.equal are both 0, or if there are no true rewards.
    """
    returns = [true_return(s.true_rewards) for s in segments if s.true_rewards is not None]
    if not returns or not (config.skip or config.equal):
        return None
    return PoolReturns(min(returns), math.fsum(returns) / len(returns))


def _choice(query: Query, left: Float32, right: Float32, config: Config) -> Choice:
    """Choose a side, a tie or "can't tell" from the true rewards (k,) of both segments."""
    pool, oracle = query.pool_returns, config.oracle
    scale = pool.mean - pool.worst if pool else 0.0
    returns = true_return(left), true_return(right)
    if pool and max(returns) < pool.worst + oracle.skip * scale:
        return Choice.CANT_TELL
    difference = true_return(left, oracle.myopia) - true_return(right, oracle.myopia)
    if not math.isfinite(difference):
        raise NotFiniteError("oracle", "the true reward")
    if abs(returns[0] - returns[1]) < oracle.equal * scale or difference == 0:
        return Choice.TIE
    # Both numbers are always drawn, so that one option does not change the effect of another.
    chance, slip = generator(config.seed, f"oracle {query.id}").random(2)
    prefers_left = chance < _sigmoid(oracle.beta * difference) if oracle.beta else difference > 0
    mistaken = slip < oracle.mistakes
    return Choice.LEFT if prefers_left != mistaken else Choice.RIGHT


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, x))))


def true_return(rewards: Float32, weight: float = 1.0) -> float:
    """Return the sum of true rewards (k,). weight: weight of each step relative to the next one"""
    weights = weight ** np.arange(len(rewards) - 1, -1, -1, dtype=np.float64)
    return float((rewards * weights).sum())


def require_rewards(segment: Segment) -> Float32:
    """Return the segment's true rewards (k,). Raises UserError if it has none."""
    if segment.true_rewards is None:
        raise UserError("This task has no true reward, so no oracle can answer: teach it yourself.")
    return segment.true_rewards
