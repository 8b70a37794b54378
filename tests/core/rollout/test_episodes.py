"""Returns of whole episodes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from core.rollout.episodes import evaluate, mean_measure, mean_return, random_returns
from core.session.session import Session
from core.tasks import get_task
from tests.core.builders import tiny


@pytest.mark.slow
def test_returns_are_those_of_the_chosen_true_reward(tmp_path: Path) -> None:
    chosen = get_task("hopper-backflip", "openai")
    returns = []
    for name in ("task", "openai"):
        config = tiny(true_reward=name)
        with closing(Session.create(tmp_path / name, config)) as session:
            evaluated = [evaluate(session, 1, task=task)["true_return"] for task in (None, chosen)]
        assert (evaluated[0] == evaluated[1]) == (name == "openai")
        returns.append((mean_return(random_returns(config)), evaluated[0]))
    assert all(own != openai for own, openai in zip(*returns, strict=True))


def test_figures_are_averaged_over_the_episodes() -> None:
    episodes = [(0.0, {"one": 1.0, "other": 3.0}), (0.0, {"one": 2.0, "other": 5.0})]
    assert mean_measure(episodes) == {"one": 1.5, "other": 4.0}
    assert mean_measure([]) == {}
