"""The teach command: the config of its session, its refusals, and its reports."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from core.__main__ import make_parser
from core.config import Config, OracleConfig, replaced
from core.events import RolloutReported
from core.headless.teach import new_session, progress_bar
from core.preferences.schedule import steps_for_answers
from core.session.session import Session, read_config
from core.tasks import CATALOGUE, get_task
from core.types import Choice
from tests.core.builders import BEHAVIOUR, query, tiny

TEACH = ["teach", "hopper-backflip", "--session", "s"]
Run = Callable[..., Any]


@pytest.mark.parametrize(("divergences", "figures"), [(0, "r 0.80]"), (2, "r 0.80, diverged 2]")])
def test_the_progress_shows_divergences_if_there_are_some(
    divergences: int, figures: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar(tiny(task="pendulum"), []) as show:
        show(RolloutReported(64, 64, 10.0, 4.0, {"return_per_episode": 2.5}, 0.8, divergences))
    assert figures in capsys.readouterr().err


def configured(*words: str) -> Config:
    """Return the config of the session that these arguments would begin."""
    session = new_session(make_parser().parse_args([*TEACH, *words]))
    session.close()
    assert read_config(Path("s")) == session.config
    return session.config


NO_ONLINE_QUERIES = {
    "query__first_share": 1.0,
    "query__first_labels": 0,
}
ABLATED = [
    ("--random-queries", {"query__selection": "random"}),
    ("--no-ensemble", {"reward__members": 1, "query__selection": "random", "reward__bonus": 0.0}),
    ("--no-online-queries", NO_ONLINE_QUERIES),
    ("--no-regularization", {"reward__l2": 0.0, "reward__sparsity": 0.0}),
    ("--no-segments", {"query__segment_steps": 1}),
    ("--target", {"reward__target": "returns"}),
]


@pytest.mark.parametrize(("flag", "changes"), ABLATED)
def test_each_ablation_is_one_flag_that_the_session_records(flag: str, changes: dict[str, Any]) -> None:
    plain = replaced(Config(task="hopper-backflip"), **get_task("hopper-backflip").presets)
    plain = replaced(plain, steps=steps_for_answers(plain))  # an ablation does not change the steps
    assert configured(flag) == replaced(plain, **changes) != plain


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--algorithm a2c", ("a2c", 5, 0.99)),
        ("--algorithm ppo --set policy__algorithm=trpo --set rollout.steps=4", ("trpo", 4, 0.995)),
    ],
)
def test_an_algorithm_sets_its_presets_and_settings_override_them(words: str, expected: tuple[str, int, float]) -> None:
    config = configured(*words.split())
    assert (config.policy.algorithm, config.rollout.steps, config.policy.discount) == expected


def test_an_ablation_does_not_shorten_a_session_whose_answers_drive_training() -> None:
    whole = configured("--preset", "default")
    shutil.rmtree("s")
    early = configured("--preset", "default", "--no-online-queries")
    assert early.steps == whole.steps > 2_000_000 and early.query.first_share == 1.0


def test_the_papers_settings_are_a_preset() -> None:
    config = configured("--preset", "paper")
    assert config.policy.algorithm == "trpo"
    assert (config.query.schedule, config.reward.bonus, config.reward.novelty) == ("paper", 0, 0)
    assert config.steps >= 300_000


def test_the_oracles_errors_are_flags_that_the_session_records() -> None:
    flags = "--oracle-mistakes .1 --oracle-skip .2 --oracle-equal .3 --oracle-beta 4 --oracle-myopia .9"
    assert configured(*flags.split()).oracle == OracleConfig(0.1, 0.2, 0.3, 4.0, 0.9)


@pytest.mark.parametrize("words", [[], ["--target"], ["--teacher", "none"]])
def test_a_task_without_a_true_reward_has_no_oracle(
    words: list[str], monkeypatch: pytest.MonkeyPatch, cli: Run
) -> None:
    task = get_task("hopper-backflip")
    monkeypatch.setitem(CATALOGUE, task.name, dataclasses.replace(task, true_reward=None))
    assert "no true reward" in cli(*TEACH, *words, code=2).err and not Path("s").exists()


def test_an_unavailable_device_is_refused_before_a_session_begins(monkeypatch: pytest.MonkeyPatch, cli: Run) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "choose the device cpu" in cli(*TEACH, "--device", "cuda", code=2).err and not Path("s").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--teacher", "person", "--oracle-mistakes", "0.4"], "give --teacher oracle"),
        (["--teacher", "person", "--set", "oracle.skip=0.1"], "give --teacher oracle"),
        (["--teacher", "none", "--set", "oracle.skip=0.1"], "give --teacher oracle"),
        (["--set", "person.wrong=0.4"], "give --teacher person"),
        (["--teacher", "oracle", "--wrong", "0.4"], "give --teacher person"),
    ],
)
def test_error_settings_of_another_teacher_are_refused(words: list[str], expected: str, cli: Run) -> None:
    refused = cli("teach", "reacher", "--session", "s", *words, code=2)
    assert expected in refused.err and not Path("s").exists()


def test_fewer_answers_than_asked_are_reported(cli: Run) -> None:
    small = ["--set", "rollout.environments=8", "--set", "rollout.steps=32", "--steps", "1280"]
    printed = cli(*TEACH, "--labels", "90", *small, "--json")
    result = json.loads(printed.out)
    assert result["labels"] < 90 and f"Only {result['labels']} of 90 answers were given" in printed.err
    assert (result["true_return"], result["measure"]) == (None, {}) and "No episode has ended" in printed.err


@pytest.mark.slow
def test_divergences_are_reported(tmp_path: Path, cli: Run) -> None:
    degrees = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .5"><freejoint/><geom size=".1" mass="1"/>
    <body pos=".15 0 0"><joint name="leg" axis="0 1 0" range="-40 40"/><geom type="capsule" fromto="0 0 0 .05 0 -.4"
    size=".02" mass=".2"/></body></body></worldbody>
    <actuator><position joint="leg" kp="2" ctrlrange="-15 15"/></actuator></mujoco>"""  # a ctrlrange is in rad
    (tmp_path / "stool.xml").write_text(degrees)
    (tmp_path / "stool.json").write_text(json.dumps({**BEHAVIOUR, "robot": "mjcf:stool.xml", "oracle": "height"}))
    small = ["--set", "rollout.environments=8", "--set", "rollout.steps=64", "--steps", "6000", "--teacher", "none"]
    printed = cli("teach", tmp_path / "stool.json", *small, "--session", "s", "--json")
    diverged = json.loads(printed.out)["divergences"]
    assert diverged > 1 and f"{diverged} simulations diverged and were reset." in printed.err


@pytest.mark.slow
def test_an_oracle_that_cannot_tell_clips_apart_is_reported(tmp_path: Path, cli: Run) -> None:
    file = tmp_path / "high.JSON"
    file.write_text(json.dumps({**BEHAVIOUR, "robot": "hopper", "clip_seconds": 0.5, "oracle": "height > 50"}))
    small = ["--set", "rollout.environments=8", "--set", "rollout.steps=64", "--labels", "4", "--steps", "1536"]
    printed = cli("teach", file, "--teacher", "oracle", *small, "--session", "s")
    assert "All answers were ties" in printed.err
    assert "The true return is the same in all 32 episodes of the untrained policy: 0." in printed.err


def test_a_reward_that_the_behaviour_file_does_not_contain_is_not_blamed_on_it(tmp_path: Path, cli: Run) -> None:
    file = tmp_path / "car.json"
    file.write_text(json.dumps({**BEHAVIOUR, "robot": "gym:MountainCar-v0", "clip_seconds": 1}))
    small = ["--set", "rollout.environments=8", "--set", "rollout.steps=64", "--steps", "1536", "--teacher", "none"]
    printed = cli("teach", file, *small, "--session", "s", "--json")
    assert json.loads(printed.out)["random_return"] < 0 and "oracle" not in printed.err


def test_signals_that_never_change_on_the_robot_are_warned_about(tmp_path: Path, cli: Run) -> None:
    file = tmp_path / "wave.json"
    plots = [{"title": "Roll", "expression": "mean(roll)"}]
    oracle = "contact[fingertip] + joint_rate[joint0] + forward_speed"
    file.write_text(json.dumps({**BEHAVIOUR, "robot": "reacher", "oracle": oracle, "plots": plots}))
    printed = cli("teach", file, *TEACH[2:], "--teacher", "none", "--steps", "1")
    same = "contact[fingertip] and forward_speed and roll"
    assert f"{same} never change on this robot: they are constants." in printed.err


@pytest.mark.parametrize("begun_with", ["human", "oracle"])
def test_the_oracle_does_not_continue_a_persons_session(cli: Run, begun_with: str) -> None:
    session = Session.create(Path("s"), tiny(teacher=begun_with))
    with closing(session), closing(session.store()) as store:
        if begun_with == "oracle":  # the person took over in the window
            store.add(query(1), Choice.LEFT, "human")
    assert " -m app --session s." in cli("teach", "--resume", "s", code=2).err
