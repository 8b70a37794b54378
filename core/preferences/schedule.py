"""Schedule of labels: how many answers are due after how many environment steps (paper A.1)."""

from __future__ import annotations

import math

from core.config import Config, QueryConfig


def first_labels(labels: int, config: QueryConfig) -> int:
    """Number of labels about the untrained policy: a share of all (A.1) or a fixed number (A.2), at least one."""
    return min(labels, config.first_labels or max(1, math.ceil(config.first_share * labels)))


def labels_due(env_steps: int, labels: int, total_steps: int, config: QueryConfig) -> int:
    """Number of labels, of `labels` in all, that are due after env_steps of total_steps (A.1).

    The first labels are due at T = 0. The others follow at a rate proportional to h / (T + h), h being
    config.half_life, scaled so that all are due by total_steps.
    """
    first, h = first_labels(labels, config), config.half_life
    progress = math.log1p(min(env_steps, total_steps) / h) / math.log1p(total_steps / h)
    return min(labels, first + int((labels - first) * progress + 1e-9))


def scheduled(env_steps: int, config: Config) -> int:
    """labels_due for a session, where T = 0 is the end of exploration."""
    explored = config.explored_steps
    return labels_due(max(0, env_steps - explored), config.labels, config.planned_steps - explored, config.query)
