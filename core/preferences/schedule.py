"""TODO-DOC."""

from __future__ import annotations

import math

from core.config import Config, QueryConfig


def first_labels(labels: int, config: QueryConfig) -> int:
    """How many labels are asked before it is taught: a share of them (A.1) or a number (A.2), but one at least."""
    return min(labels, config.first_labels or max(1, math.ceil(config.first_share * labels)))


def labels_due(env_steps: int, labels: int, total_steps: int, config: QueryConfig) -> int:
    """How many labels the schedule wants by now (A.1).

    The first ones at T = 0, then at a rate proportional to h / (T + h), scaled so that all are asked by total_steps.
    """
    first, h = first_labels(labels, config), config.half_life
    progress = math.log1p(min(env_steps, total_steps) / h) / math.log1p(total_steps / h)
    return min(labels, first + int((labels - first) * progress + 1e-9))


def scheduled(env_steps: int, config: Config) -> int:
    """labels_due of a session, whose T = 0 comes when it has explored."""
    explored = config.explored_steps
    return labels_due(max(0, env_steps - explored), config.labels, config.planned_steps - explored, config.query)
