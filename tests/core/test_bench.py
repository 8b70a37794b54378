"""What the benchmark teaches; how fast it is, no test asks."""

from __future__ import annotations

import pytest

from core.bench import _short
from core.config import Config, replaced
from core.tasks import CATALOGUE
from core.tasks.base import Task


@pytest.mark.parametrize("task", CATALOGUE.values(), ids=CATALOGUE)
def test_every_task_has_a_short_session_in_which_all_its_labels_are_asked(task: Task) -> None:
    config = replaced(Config(task=task.name), **task.presets)
    short = _short(config)
    batch = short.rollout.environments * short.rollout.steps
    assert short.teacher == "oracle" and short.steps >= 10 * batch
    if task.pictures:
        assert (short.steps, short.labels, short.query.first_labels) == (24 * batch, 64, 32)
        assert short.reward.epochs_first == 1 and short.reward.pace == config.reward.pace > 0
    else:
        assert (short.steps, short.labels, short.explored_steps) == (200_000, config.labels, 0)
