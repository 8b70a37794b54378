"""Limits on sizes: too large for pictures of games, refused in a sentence before memory is allocated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.config import Config, replaced
from core.errors import UserError
from core.session.session import Session
from core.session.size_limits import captured_pool, check_size_limits
from core.tasks import get_task

ABSURD = [
    ({"rollout__environments": 16384, "rollout__steps": 2}, "rollout.environments"),
    ({"rollout__environments": 128, "query__segment_steps": 300}, "query.segment_steps"),
    ({"rollout__environments": 16, "rollout__steps": 100_000}, "rollout.steps"),
    ({"query__segment_steps": 250, "rollout__captured_envs": 4}, "query.pool"),
    ({"query__segment_steps": 300, "query__pool": 3000}, "query.pool"),
]


@pytest.mark.parametrize(("changes", "named"), ABSURD)
def test_a_game_of_an_absurd_size_is_neither_made_nor_opened(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    config = replaced(Config(task="pong"), **{"rollout__environments": 16, "rollout__steps": 64, **changes})
    with pytest.raises(UserError, match=f"pong has image observations: .*{named}") as made:
        Session.create(tmp_path / "s", config)
    assert not (tmp_path / "s").exists() and "\n" not in str(made.value)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "config.json").write_text(json.dumps(config.to_dict()))
    with pytest.raises(UserError, match="image observations"):
        Session.open(tmp_path / "t")


@pytest.mark.parametrize("changes", [changes for changes, _ in ABSURD])
def test_the_same_sizes_are_accepted_for_a_robot(changes: dict[str, Any]) -> None:
    check_size_limits(replaced(Config(), **changes), get_task("hopper"))


@pytest.mark.parametrize("task", ["pong", "enduro-even"])
def test_sizes_for_a_large_workstation_are_accepted(task: str) -> None:
    for environments, steps in ((16, 5), (128, 128), (256, 256), (400, 5)):
        config = Config(task=task)
        check_size_limits(replaced(config, rollout__environments=environments, rollout__steps=steps), get_task(task))
    # long segments, with the small pool of a window
    config = replaced(Config(task="pong"), rollout__environments=16, query__segment_steps=250)
    check_size_limits(config, get_task("pong"))
    check_size_limits(replaced(config, rollout__captured_envs=4, query__pool=captured_pool(25)), get_task("pong"))
    # a large pool of usual segments
    check_size_limits(replaced(config, query__segment_steps=25, query__pool=8192), get_task("pong"))


@pytest.mark.parametrize(("task", "steps"), [("hopper", 320), ("pong", 300)])
def test_a_clip_is_no_longer_than_an_episode(tmp_path: Path, task: str, steps: int) -> None:
    config = replaced(Config(task=task), rollout__environments=16)
    check_size_limits(replaced(config, query__segment_steps=steps), get_task(task))
    with pytest.raises(UserError, match=rf"^segment_steps is {steps + 1}: give at most the {steps} of an episode"):
        Session.create(tmp_path / "s", replaced(config, query__segment_steps=steps + 1))
    assert not (tmp_path / "s").exists()
