"""Draft of a new session's config: settings, defaults, contradictions."""

from __future__ import annotations

import dataclasses

import pytest

from app.session.config_draft import HIDDEN, PLAIN, ConfigDraft, sections
from core.config import Config
from core.tasks import CATALOGUE


def test_every_field_of_the_config_can_be_set_in_one_place() -> None:
    fields, default = set[str](), Config()
    for field in dataclasses.fields(Config):
        value = getattr(default, field.name)
        inner = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
        fields |= {f"{field.name}.{f.name}" for f in inner} or {field.name}
    listed = [one.name for section in sections() for one in section.settings]
    elsewhere = {*PLAIN, *HIDDEN}
    assert len(listed) == len(set(listed)) and not set(listed) & elsewhere
    assert set(listed) | elsewhere == fields


@pytest.mark.parametrize("task", [*CATALOGUE, "gym:CartPole-v1"])
def test_the_defaults_of_every_task_are_valid(task: str) -> None:
    draft = ConfigDraft(task)
    assert draft.problem == "" and draft.config and draft.config.task == task
    assert not draft.changes


@pytest.mark.parametrize(
    ("changes", "sentence", "wrong"),
    [
        ({"policy.discount": 5}, "discount is 5", {"policy.discount"}),
        ({"labels": 0}, "0 labels", {"labels"}),
        ({"reward.ratio_low": 9.0, "reward.ratio_high": 10.0, "policy.clip": 7}, "clip is 7", {"policy.clip"}),
        ({"reward.target": "returns", "teacher": "oracle"}, "target=comparisons", {"reward.target"}),
        ({"reward.members": 1, "query.selection": "random"}, "reward.bonus", {"reward.members"}),  # one advice followed
        (
            {"reward.members": 1, "query.selection": "random", "reward.bonus": 0.0, "policy.discount": 5},
            "5",
            {"policy.discount"},
        ),
        ({"query.segment_steps": 500}, "at most the 50 of an episode", {"query.segment_steps"}),
        ({"rollout.environments": 16384, "rollout.steps": 2000}, "memory", set()),
    ],
)
def test_a_contradiction_is_one_sentence(changes: dict[str, object], sentence: str, wrong: set[str]) -> None:
    draft = ConfigDraft("reacher")
    for name, value in changes.items():
        draft.set(name, value)
    assert draft.config is None and sentence in draft.problem
    assert wrong <= draft.wrong.keys() <= set(changes)
    draft.reset([*draft.changes])
    assert draft.problem == "" and draft.config and not draft.wrong
