"""Presets of the algorithms, which settings of the task or of the person override."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest

from core.config import Config, replaced
from core.headless.settings import make_config
from core.presets import ALGORITHM_PRESETS, DEFAULT, PAPER, PAPER_GAME, PAPER_ROBOT, merge_presets
from core.tasks import CATALOGUE, PAPER_ROBOTS, behaviours, get_task

TUNED = {"policy.minibatch": 512, "policy.discount": 0.98, "rollout.environments": 256, "policy.entropy_bonus": 1e-3}


def made(*, task: dict[str, Any], paper_presets: dict[str, Any] | None = None, algorithm: str | None = None) -> Config:
    return replaced(Config(), **merge_presets(task, paper_presets or {}, algorithm))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("algorithm", ALGORITHM_PRESETS)
@pytest.mark.parametrize("task", CATALOGUE)
def test_every_task_can_be_taught_with_every_algorithm(task: str, algorithm: str) -> None:
    assert made(task=dict(get_task(task).presets), algorithm=algorithm).policy.algorithm == algorithm


def test_settings_of_a_task_for_its_own_algorithm_do_not_apply_to_another() -> None:
    config = made(task=TUNED)
    assert (config.policy.algorithm, config.policy.minibatch, config.rollout.environments) == ("ppo", 512, 256)
    config = made(task=TUNED, algorithm="a2c")
    assert (config.rollout.environments, config.policy.discount, config.policy.entropy_bonus) == (16, 0.99, 1e-3)
    assert made(task=TUNED, algorithm="trpo").policy.minibatch == 256
    assert made(task=TUNED, paper_presets={"reward.epochs": 9}, algorithm="trpo").reward.epochs == 9


def test_ppo_and_sac_share_the_settings_of_a_task_that_were_chosen_for_one_of_them() -> None:
    config = made(task=TUNED, algorithm="sac")
    assert (config.rollout.environments, config.policy.discount, config.policy.entropy_bonus) == (256, 0.98, 1e-3)
    assert made(task={**TUNED, "policy.algorithm": "sac"}, algorithm="ppo").policy == made(task=TUNED).policy


APPENDIX_ROBOTS = """
reward.members 3, query.candidates 10, reward.holdout 0.36788, reward.ratio_low 1.1, reward.ratio_high 1.5,
reward.error_rate 0.1, query.selection disagreement, query.schedule paper, query.first_share 0.25, query.half_life 2e6,
policy.algorithm trpo, policy.discount 0.995, policy.gae_lambda 0.97, reward.hidden 64,
reward.std 1.0, reward.bonus 0, reward.novelty 0, labels 700
"""
APPENDIX_GAMES = """
reward.members 3, query.candidates 10, reward.holdout 0.36788, reward.ratio_low 1.1, reward.ratio_high 1.5,
reward.error_rate 0.1, policy.algorithm a2c, policy.entropy_bonus 0.01, policy.learning_rate 0.0007,
policy.decay 0.625, rollout.steps 5, rollout.environments 16, policy.discount 0.99, policy.rms_decay 0.99,
policy.rms_epsilon 1e-5, policy.vision nature, reward.dropout 0.5, reward.hidden 64, reward.std 0.05,
query.first_share 0.090909, reward.epochs_first 200, query.half_life 1.25e6, reward.steps_per_label 10,
reward.max_labels 3000, labels 5500, steps 50e6, reward.bonus 0
"""
"""The numbers of appendix A, as they were read from the paper. Its 5 million frames are 1.25 million steps."""


def paper(task: str) -> Config:
    return make_config(task, "paper", {}, {}, {})


@pytest.mark.parametrize(("task", "numbers"), [("walker", APPENDIX_ROBOTS), ("seaquest", APPENDIX_GAMES)])
def test_the_preset_of_the_paper_has_the_numbers_of_its_appendix(task: str, numbers: str) -> None:
    config = paper(task)
    for name, expected in (pair.split() for pair in numbers.split(",")):
        value: Any = config
        for part in name.split("."):
            value = getattr(value, part)
        assert value == (pytest.approx(float(expected), rel=1e-4) if expected[0].isdigit() else expected), name


def test_the_papers_games_start_with_five_hundred_labels_or_the_same_share_of_fewer() -> None:
    first = [paper("pong").query.first_of(labels) for labels in (5500, 3300, 350)]
    assert first == [500, 300, 32]  # A.2


def test_the_papers_behaviours_have_their_own_numbers_of_answers() -> None:
    named = [paper(task) for task in ("hopper-backflip", "half-cheetah-one-leg", "enduro-even")]
    assert [config.labels for config in named] == [900, 800, 1300] and named[2].steps == 1_000_000  # 3.2
    assert named[0].query.length(40) * get_task("hopper-backflip").step_seconds == pytest.approx(1.5)


def test_the_learning_rate_of_the_papers_games_falls_as_if_to_zero_at_80_million_steps() -> None:
    decays = [
        paper("enduro-even").policy.decay,
        make_config("pong", "paper", {"steps": 4_000_000}, {}, {}).policy.decay,
    ]
    assert decays == [1 / 80, 1 / 20]  # A.2
    assert make_config("pong", "paper", {}, {}, {"query.horizon": 4_000_000}).policy.decay == 1 / 20
    assert make_config("pong", "paper", {"steps": 4_000_000}, {}, {"policy.decay": 0.5}).policy.decay == 0.5


def test_the_entropy_bonus_applies_to_a_changing_reward() -> None:
    bonus = {
        task: make_config(task, "paper", {"teacher": "none"}, {}, {}).policy.entropy_bonus for task in ("ant", "pong")
    }
    assert bonus == {"ant": 0.0, "pong": 0.01}  # A.1, A.2
    other = {"teacher": "none", "policy.algorithm": "ppo"}
    assert make_config("ant", "paper", other, {}, {}).policy.entropy_bonus == 0.0


def test_the_swimmers_entropy_bonus_and_the_clip_lengths_match_the_paper() -> None:
    assert paper("swimmer").policy.entropy_bonus == 0.001 and paper("ant").policy.entropy_bonus == 0.01
    for task in PAPER_ROBOTS:
        steps = paper(task).query.length(get_task(task).segment_steps)
        assert 15 <= steps <= 60 and get_task(task).step_seconds * steps == pytest.approx(1.5, rel=0.01)  # A.1
    assert paper("pong").query.length(get_task("pong").segment_steps) == 25  # A.2


def test_robots_have_the_documented_numbers_of_answers_and_steps() -> None:
    assert {paper(task).steps for task in PAPER_ROBOTS} == {2_000_000}
    usual = [make_config(task, "default", {}, {}, {}) for task in PAPER_ROBOTS]
    assert {(config.labels, config.steps) for config in usual} == {(100, 3_580_000)}


def test_robots_share_all_settings_except_their_noise() -> None:
    for task in (*PAPER_ROBOTS, *behaviours()):
        assert get_task(task).presets == {**DEFAULT, "policy.initial_std": ANY}, task


@pytest.mark.parametrize("task", ["ant", "ant-spin"])
def test_the_ant_has_fewer_environments_where_steps_are_given(task: str) -> None:
    for given in ({"steps": 2_000_000}, {"steps": 500_000}):
        assert make_config(task, "default", given, {}, {}).rollout.environments == 86
        assert make_config(task, "default", {}, {}, given).rollout.environments == 86
    assert make_config("walker", "default", {"steps": 2_000_000}, {}, {}).rollout.environments == 256
    assert (
        make_config(task, "default", {}, {}, {}).rollout.environments == 256
    )  # a session as long as its answers allow
    assert (
        make_config(task, "default", {"steps": 2_000_000}, {}, {"rollout.environments": 100}).rollout.environments
        == 100
    )
    assert (
        make_config(task, "default", {"steps": 2_000_000, "policy.algorithm": "trpo"}, {}, {}).rollout.environments
        == 64
    )


@pytest.mark.parametrize("task", [*CATALOGUE, *behaviours(), "gym:CartPole-v1"])
def test_every_task_and_behaviour_has_the_papers_preset(task: str) -> None:
    config = paper(task)
    assert config.policy.algorithm == ("a2c" if get_task(task).pictures else "trpo")
    assert make_config(task, "paper", {"policy.algorithm": "ppo"}, {}, {}).policy.algorithm == "ppo"


@pytest.mark.parametrize("task", ["hopper", "gym:CartPole-v1"])
def test_a_short_session_updates_its_policy_120_times(task: str) -> None:
    steps = 120 * 48

    def environments(preset: str, settings: dict[str, Any], **given: Any) -> int:
        return make_config(task, preset, given, {}, settings).rollout.environments

    usual = environments("default", {})
    assert environments("default", {}, steps=steps * usual) == usual == 256
    assert environments("default", {}, steps=steps * 20) == 20 and environments("default", {}, steps=1) == 8
    assert environments("default", {"rollout.environments": 50}, steps=1) == 50
    assert environments("paper", {}, steps=1) == environments("paper", {})


def test_each_setting_cites_its_section_unless_the_paper_gives_none() -> None:
    silent = []
    for preset in (PAPER, PAPER_ROBOT, PAPER_GAME):
        for name, (_, section) in preset.items():
            assert set(section.split(", ")) <= {"", "A", "A.1", "A.2", "2.2.1", "2.2.3", "2.2.4", "3.1.1"}, name
            silent += [] if section else [name]
    assert silent == [
        *("reward.epochs", "reward.last_layer_scale", "reward.sparsity", "reward.bonus", "reward.novelty"),
        *("query.pool_old", "query.rest", "query.alike", "policy.lag"),
        *("steps", "policy.decay", "query.first_labels"),
    ]
