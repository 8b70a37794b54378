"""Schedules of answers: how many are due after how many environment steps, and how far training has come.

The paper's schedule asks at a rate that falls with the steps of the session (A.1). The other one follows the answers:
each of them allows a number of steps, config.rollout.steps_per_answer, after which training holds until the next one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from core.config import Config, QueryConfig
from core.seeding import generator
from core.types import Teacher

HOLDS, FINISHED = "training waits for the next answer", "training is finished"
"""Reasons of the rollout for waiting in a session whose schedule follows a human's answers."""
DONE = "all steps of this session are done"
"""Reason of the rollout for waiting at the end of config.steps."""
_PAUSE_SHARE, _PAUSE_SECONDS = 0.04, 60.0
"""Share of a simulated person's answers before which there is a pause, and its mean length."""
_SPREAD = 0.5
"""Standard deviation of the logarithm of a simulated person's seconds per answer."""


def labels_due(env_steps: int, labels: int, total_steps: int, config: QueryConfig) -> int:
    """Number of labels, of `labels` in all, that are due after env_steps of total_steps (A.1).

    The first labels are due at T = 0. The others follow at a rate proportional to h / (T + h), h being
    config.half_life, scaled so that all are due by total_steps.
    """
    first, h = config.first_of(labels), config.half_life
    progress = math.log1p(min(env_steps, total_steps) / h) / math.log1p(total_steps / h)
    return min(labels, first + int((labels - first) * progress + 1e-9))


def scheduled(env_steps: int, config: Config) -> int:
    """Number of labels due after env_steps of a session."""
    if config.query.schedule == "paper":
        own = config.labels - config.query.taken
        return config.query.taken + labels_due(env_steps, own, config.planned_steps, config.query)
    first = config.labels - _later(config)
    if config.teacher == Teacher.PERSON:
        return first + bisect_right(_later_labels(config), env_steps)
    return min(config.labels, first + int(env_steps / _label_interval(config) + 1e-9))


def steps_for_answers(config: Config) -> int:
    """Environment steps of a session that trains as long as its answers allow, and then finishes."""
    return (1 + _later(config)) * config.rollout.steps_per_answer + config.rollout.finish_steps


def exploration_share(config: Config) -> float:
    """Share of the usual exploration, less than 1 where answers come fast.

    Rewards for novelty and for disagreement, and robots that start in any way, show what is worth asking about. They cost
    return once answers tell what is wanted, so there is less of them where each answer has little training, and none on
    the true reward. It falls steeply, as the cube of the steps between two answers: behaviours that are hard to find need
    half of it at 2,600 steps, and robots learn best with a tenth at 1,450 (docs/experiments/fast-answers.md).
    """
    if config.teacher == Teacher.NONE:
        return 0.0
    interval = config.reward.answer_interval
    return min(1.0, _label_interval(config) / interval) ** 3 if interval else 1.0


def finishing(env_steps: int, end: int, falling_steps: int) -> float:
    """Progress of the training at a falling learning rate, the last falling_steps before `end`, from 0 to 1."""
    return min(1.0, max(0.0, 1 - (end - env_steps) / falling_steps)) if falling_steps else 0.0


def _later(config: Config) -> int:
    """Number of labels after the first ones, of those that this session asks for itself."""
    own = config.labels - config.query.taken
    return own - config.query.first_of(own)


def _label_interval(config: Config) -> float:
    """Environment steps between two labels: as many as one answer allows, or fewer if a headless session is too short.

    Its first half then has all labels: in the second the policy catches up with the reward (docs/experiments/fast-answers.md).
    A human answers at any pace, and config.labels is no number that they mean to give.
    """
    allowed = config.rollout.steps_per_answer
    if config.teacher == Teacher.HUMAN and allowed:
        return allowed
    available = config.planned_steps - config.last_steps
    return min(allowed or math.inf, available / (_later(config) + 1))


@lru_cache(maxsize=8)
def _later_labels(config: Config) -> list[float]:
    """Environment steps at which a simulated person gives each label but the first ones."""
    later, longest = _later(config), _label_interval(config)
    rng, person = generator(config.seed, "person's pace"), config.person
    seconds = 60 / person.pace * rng.lognormal(-(_SPREAD**2) / 2, _SPREAD, later)
    seconds += (rng.random(later) < _PAUSE_SHARE) * rng.exponential(_PAUSE_SECONDS, later)
    return list(accumulate(min(longest, person.speed * each) for each in seconds.tolist()))
