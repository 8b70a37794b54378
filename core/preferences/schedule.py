"""Schedules of answers: how many are due after how many environment steps, and the progress of training.

The paper's schedule asks at a rate that falls with the steps of the session (A.1). The other one follows the answers:
each answer allows a number of steps, config.rollout.steps_per_answer, after which training holds until the next answer.
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
"""Reasons why the rollout waits in a session whose schedule follows a human's answers."""
DONE = "all steps of this session are done"
"""Reason why the rollout waits at the end of config.steps."""
_PAUSE_SHARE, _PAUSE_SECONDS = 0.04, 60.0
"""Share of a simulated person's answers that follow a pause, and the mean length of a pause in seconds."""
_SPREAD = 0.5
"""Standard deviation of the logarithm of a simulated person's seconds per answer."""


def labels_due(env_steps: int, labels: int, total_steps: int, config: QueryConfig) -> int:
    """Return how many of `labels` labels are due after env_steps of total_steps (A.1).

    The first labels are due at T = 0. The others follow at a rate proportional to h / (T + h), where h is
    config.half_life, scaled so that all are due by total_steps.
    """
    first, h = config.first_of(labels), config.half_life
    progress = math.log1p(min(env_steps, total_steps) / h) / math.log1p(total_steps / h)
    return min(labels, first + int((labels - first) * progress + 1e-9))


def scheduled(env_steps: int, config: Config) -> int:
    """Return the number of labels due after env_steps of a session."""
    if not config.query.by_answers:
        own = config.labels - config.query.taken
        return config.query.taken + labels_due(env_steps, own, config.planned_steps, config.query)
    first = config.labels - _later(config)
    if config.teacher == Teacher.PERSON:
        return first + bisect_right(_later_labels(config), env_steps)
    return min(config.labels, first + int(env_steps / _label_interval(config) + 1e-9))


def steps_for_answers(config: Config) -> int:
    """Return the environment steps of a session that trains as long as its answers allow, and then finishes."""
    return (1 + _later(config)) * config.rollout.steps_per_answer + config.rollout.finish_steps


def exploration_share(config: Config) -> float:
    """Return the share of the usual exploration, less than 1 if answers come fast.

    Rewards for novelty and for disagreement, and varied starts of robots, lead to clips worth asking about. They cost
    return when answers define the behaviour well, so there is less exploration if each answer has little training, and
    none on the true reward. The share is the cube of a ratio of steps per answer: behaviours that are hard to find need
    half of the exploration at 2,600 steps per answer, and robots learn best with a tenth at 1,450
    (docs/experiments/fast-answers.md).
    """
    if config.teacher == Teacher.NONE:
        return 0.0
    interval = config.reward.answer_interval
    return min(1.0, _label_interval(config) / interval) ** 3 if interval else 1.0


def finishing(env_steps: int, end: int, falling_steps: int) -> float:
    """Return the progress, 0 to 1, of the training at a falling learning rate: the last falling_steps before `end`."""
    return min(1.0, max(0.0, 1 - (end - env_steps) / falling_steps)) if falling_steps else 0.0


def _later(config: Config) -> int:
    """Return the number of labels after the first ones, without those taken over from another session."""
    own = config.labels - config.query.taken
    return own - config.query.first_of(own)


def _label_interval(config: Config) -> float:
    """Return the environment steps between two labels: as many as one answer allows, or fewer in a short headless session.

    All labels then come before the session's last steps, in which the policy catches up with the reward
    (docs/experiments/fast-answers.md). In a human's session the pace is free, and config.labels is not a planned number.
    """
    allowed = config.rollout.steps_per_answer
    if config.teacher == Teacher.HUMAN and allowed:
        return allowed
    available = config.planned_steps - config.last_steps
    return min(allowed or math.inf, available / (_later(config) + 1))


@lru_cache(maxsize=8)
def _later_labels(config: Config) -> list[float]:
    """Return the environment steps at which a simulated person gives each label after the first ones."""
    later, longest = _later(config), _label_interval(config)
    rng, person = generator(config.seed, "person's pace"), config.person
    seconds = 60 / person.pace * rng.lognormal(-(_SPREAD**2) / 2, _SPREAD, later)
    seconds += (rng.random(later) < _PAUSE_SHARE) * rng.exponential(_PAUSE_SECONDS, later)
    return list(accumulate(min(longest, person.speed * each) for each in seconds.tolist()))
