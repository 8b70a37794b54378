"""What the benchmark teaches; how fast it is, no test asks."""

from __future__ import annotations

import time

import pytest

from core.config import Config, replaced
from core.headless.bench import _rates, _taught, _Work
from core.tasks import CATALOGUE
from core.tasks.base import Task


@pytest.mark.parametrize("task", CATALOGUE.values(), ids=CATALOGUE)
def test_a_robot_is_taught_for_its_whole_session_and_a_game_for_some_batches(task: Task) -> None:
    config = replaced(Config(task=task.name), **task.presets)
    taught = _taught(config)
    batch = taught.rollout.environments * taught.rollout.steps
    assert (taught.teacher, taught.explored_steps) == ("oracle", 0)
    if task.pictures:
        assert (taught.steps, taught.labels, taught.query.first_labels) == (24 * batch, 64, 32)
        assert taught.reward.epochs_first == 1 and taught.reward.steps_per_label == config.reward.steps_per_label > 0
    else:
        assert (taught.steps, taught.labels) == (config.steps, config.labels)


def test_what_is_compared_takes_turns_and_each_rate_is_of_its_own_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    now, order = [0.0], []
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def work(name: str, seconds: float) -> None:
        order.append(name)
        now[0] += seconds

    closed: list[str] = []
    quick = _Work(3, lambda: work("quick", 0.5), lambda: closed.append("quick"))
    slow = _Work(8, lambda: work("slow", 2.0), lambda: closed.append("slow"))
    rates = _rates([quick, slow])
    assert len(rates) > 10 and (rates == [6.0, 4.0]).all() and closed == ["slow", "quick"]
    turns = [name for name, before in zip(order, ["", *order], strict=False) if name != before]
    assert len(turns) > 20 and set(turns[::2]) == {"quick"} and set(turns[1::2]) == {"slow"}
