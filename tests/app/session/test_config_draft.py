"""What may be set of a new session, and what contradicts."""

from __future__ import annotations

import dataclasses

import pytest

from app.session.config_draft import PLAIN, ConfigDraft, sections, setting
from core.config import Config
from core.tasks import CATALOGUE, get_task


def every_field() -> set[str]:
    found, default = set(), Config()
    for field in dataclasses.fields(Config):
        value = getattr(default, field.name)
        inner = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
        found |= {f"{field.name}.{f.name}" for f in inner} or {field.name}
    return found


def test_every_field_of_the_config_can_be_set_in_one_place() -> None:
    listed = [one.name for section in sections() for one in section.settings]
    assert len(listed) == len(set(listed))
    assert set(listed) | set(PLAIN) == every_field()
    assert not set(listed) & set(PLAIN)


def test_a_setting_tells_what_the_config_does() -> None:
    told = setting("policy.discount")
    assert (told.title, told.help, told.paper) == ("discount", "discount rate, per step", "A.1")
    assert (told.default, told.low, told.high, told.whole) == (0.99, 0, 0.99999, False)
    assert setting("rollout.environments").whole
    assert setting("query.selection").options == ("disagreement", "random", "mutual_information", "recency")
    assert all(one.help for section in sections() for one in section.settings)


@pytest.mark.parametrize(
    ("words", "matches"), [("discount", True), ("A.1", True), ("rate step", True), ("policy per", True), ("l2", False)]
)
def test_settings_are_searched_by_all_their_words(words: str, matches: bool) -> None:
    assert setting("policy.discount").matches(words) == matches


@pytest.mark.parametrize("task", [*CATALOGUE, "gym:CartPole-v1"])
def test_a_fresh_draft_of_every_task_can_be_made_as_it_is(task: str) -> None:
    draft = ConfigDraft(task)
    assert draft.problem == "" and draft.config and draft.config.task == task
    assert not draft.changes


def test_what_suits_the_task_is_applied_and_marked() -> None:
    draft = ConfigDraft("reacher")
    assert get_task("reacher").presets["policy.discount"] == 0.9
    assert draft.value("policy.discount") == 0.9 and draft.suits("policy.discount") == "task"
    assert draft.value("policy.clip") == 0.2 and draft.suits("policy.clip") == ""
    assert draft.value("query.first_labels") == 30 and draft.suits("query.first_labels") == "window"
    assert draft.config and draft.config.policy.discount == 0.9


def test_what_is_set_counts_and_goes_back() -> None:
    draft = ConfigDraft("reacher")
    draft.set("policy.discount", 0.5)
    assert draft.config and draft.config.policy.discount == 0.5
    assert draft.suits("policy.discount") == ""
    draft.reset("policy.discount")
    assert draft.value("policy.discount") == 0.9 and draft.suits("policy.discount") == "task"


def test_another_optimizer_brings_its_own_numbers() -> None:
    draft = ConfigDraft("hopper")
    draft.set("policy.algorithm", "a2c")
    assert (draft.value("rollout.steps"), draft.value("reward.interval")) == (5, 2000)
    assert draft.config and draft.config.rollout.steps == 5


def test_what_is_set_stays_when_the_task_changes() -> None:
    draft = ConfigDraft("reacher", {"labels": 33})
    draft.set_task("ant")
    assert draft.config and (draft.config.task, draft.config.labels) == ("ant", 33)
    assert draft.value("policy.initial_std") == 0.15


@pytest.mark.parametrize(
    ("changes", "sentence", "wrong"),
    [
        ({"policy.discount": 5}, "discount is 5; give a number from 0 to 0.99999.", {"policy.discount"}),
        ({"rollout.environments": "many"}, "environments is 'many'", {"rollout.environments"}),
        ({"labels": 0}, "With 0 labels nothing can be learned", {"labels"}),
        ({"reward.ratio_low": 9.0, "reward.ratio_high": 10.0, "policy.clip": 7}, "clip is 7", {"policy.clip"}),
        ({"reward.target": "returns", "teacher": "oracle"}, "In a window nobody tells true returns", {"reward.target"}),
        ({"query.segment_steps": 500}, "an episode has 50", {"query.segment_steps"}),
        ({"query.pool": 2}, "too few pairs for the first labels", {"query.pool"}),
        ({"rollout.environments": 16384, "rollout.steps": 2000}, "would not fit into memory", set()),
    ],
)
def test_what_contradicts_is_told_in_a_sentence(changes: dict[str, object], sentence: str, wrong: set[str]) -> None:
    draft = ConfigDraft("reacher")
    for name, value in changes.items():
        draft.set(name, value)
    assert draft.config is None and sentence in draft.problem
    assert wrong <= draft.wrong <= set(changes)


def test_a_mended_draft_can_be_made_again() -> None:
    draft = ConfigDraft("reacher")
    draft.set("reward.members", 1)
    assert "One predictor cannot disagree" in draft.problem
    draft.set("query.selection", "random")
    assert draft.problem == "" and draft.config and not draft.wrong


def test_the_oracle_needs_a_true_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = dataclasses.replace(CATALOGUE["reacher"], true_reward=None)  # type: ignore[call-arg]
    monkeypatch.setitem(CATALOGUE, "reacher", bare)
    draft = ConfigDraft("reacher", {"teacher": "oracle"})
    assert "no true reward" in draft.problem
    draft.set("teacher", "human")
    assert draft.problem == ""
