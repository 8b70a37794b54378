"""The config: written and read, and refused by the name of a wrong setting."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from core.config import Config, replaced
from core.errors import UserError
from tests.core.builders import tiny


def test_a_config_is_written_and_read_unchanged() -> None:
    config = tiny(seed=7, oracle__equal=0.25, reward__l2=3e-5, query__selection="random", teacher="human")
    assert Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_missing_fields_have_their_defaults() -> None:
    assert Config.from_dict({"seed": 3, "reward": {"members": 5}}) == replaced(Config(), seed=3, reward__members=5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", 1.5),
        ("query__half_life", float("inf")),
        ("policy__learning_rate", float("nan")),
        ("task", 5),
        ("reward__members", 0),
        ("reward__error_rate", 1.0),
        ("rollout__environments", 65536),
        ("query__pool", 10**15),
        ("policy__minibatch", 10**400),
        ("query__half_life", 10**400),
    ],
)
def test_values_out_of_bounds_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UserError, match=name.rpartition("__")[2]) as refused:
        replaced(Config(), **{name: value})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"reward__target": "returns", "teacher": "human"},
        {"reward__ratio_low": 1.6, "reward__ratio_high": 1.5},
        {"reward__members": 100, "reward__hidden": 4096},
        {"query__pool": 16384, "query__segment_steps": 65},
        {"rollout__environments": 2048, "query__segment_steps": 1000},
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError) as refused:
        replaced(Config(), **changes)
    assert "\n" not in str(refused.value) and str(refused.value).endswith(".")


@pytest.mark.parametrize(
    "changes",
    [
        {"reward__members": 1, "query__selection": "disagreement", "teacher": "none"},
        {"reward__members": 4, "reward__hidden": 2048},
        {"reward__target": "returns", "teacher": "oracle", "true_reward": "openai"},
        {"rollout__environments": 16384, "rollout__steps": 1024},
        {"rollout__environments": 1000, "query__segment_steps": 1000},
    ],
)
def test_consistent_values_are_accepted(changes: dict[str, Any]) -> None:
    config = replaced(Config(), **changes)
    assert {name: functools.reduce(getattr, name.split("__"), config) for name in changes} == changes


@pytest.mark.parametrize(
    "name", ["nothing", "reward__nothing", "nothing__members", "task__h", "reward__members__x", "reward"]
)
def test_unknown_names_are_refused_by_name(name: str) -> None:
    with pytest.raises(UserError, match=name.replace("__", ".")):
        replaced(Config(), **{name: 1})


@pytest.mark.parametrize(
    "values", [{"reward": {"nothing": 1}}, {"nothing": 1}, {"reward": 5}, {"task": 5}, {"task": []}, [1, 2], None]
)
def test_a_file_that_is_no_config_is_refused(values: Any) -> None:
    with pytest.raises(UserError):
        Config.from_dict(values)
