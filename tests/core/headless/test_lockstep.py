"""Jobs that take turns, each in a process of its own: real ones, really killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from core.config import Config, replaced
from core.errors import NotFiniteError, StageFailedError, UserError
from core.events import (
    AnswersReplayed,
    Event,
    JobSpec,
    JobState,
    PolicyPublished,
    RewardPublished,
    RolloutBatchReady,
    RolloutReported,
)
from core.headless import run as headless
from core.headless.lockstep import LocalPort, ProcessPort, TurnPort
from core.headless.run import HeadlessRun
from core.nn.state import state_arrays
from core.session.session import Session
from core.tasks import PAPER_ROBOTS, get_task
from tests.core import failing
from tests.core.builders import tiny

Apart = Callable[..., ProcessPort]


@pytest.fixture
def apart() -> Iterator[Apart]:
    made: list[ProcessPort] = []

    def start(name: str, state: JobState | None = None, **changes: Any) -> ProcessPort:
        made.append(ProcessPort(JobSpec(name, tiny(**changes).to_dict(), state), 1))
        made[-1].ready()
        return made[-1]

    yield start
    for port in made:
        port.close()
        assert not port._process.is_alive()


def turn(port: TurnPort, *events: Event) -> list[Event]:
    for event in events:
        port.send(event)
    port.begin()
    return port.end()


def test_a_job_in_its_own_process_tells_and_keeps_what_it_does_in_this_one(apart: Apart) -> None:
    here, there = LocalPort(JobSpec("policy", tiny().to_dict()), 1), apart("policy")
    (mine,), (its,) = turn(here), turn(there)
    assert isinstance(mine, PolicyPublished) and isinstance(its, PolicyPublished)
    assert all(np.array_equal(mine.weights[name], its.weights[name]) for name in mine.weights)
    assert turn(here) == turn(there) == []  # both wait
    one, other = here.state(), there.state()
    assert one.values == other.values and one.arrays.keys() == other.arrays.keys()


def test_a_turn_is_one_batch_though_more_may_be_collected(apart: Apart) -> None:
    policy = LocalPort(JobSpec("policy", tiny().to_dict()), 1)
    rollout = apart("rollout", teacher="none", policy__lag=3)
    told = turn(rollout, AnswersReplayed(), *turn(policy))
    for steps in (256, 512, 768, 1024):
        assert [event.env_steps for event in told if isinstance(event, RolloutReported)] == [steps]
        told = turn(rollout)
    assert told == []  # as far ahead as it may be


def test_what_a_job_fails_of_is_raised_here(apart: Apart) -> None:
    with pytest.raises(UserError, match="checkpoint"):
        apart("policy", JobState({}, {"version": 1}))
    rollout, policy = apart("rollout"), LocalPort(JobSpec("policy", tiny().to_dict()), 1)
    reward = LocalPort(JobSpec("reward", tiny().to_dict()), 1)
    spoiled = {name: np.full_like(array, np.nan) for name, array in state_arrays(reward.job.trainer.ensemble).items()}  # type: ignore[attr-defined]
    with pytest.raises(NotFiniteError, match="rollout: the predicted reward") as failed:
        turn(rollout, AnswersReplayed(), RewardPublished(1, spoiled), *turn(policy))
    assert failed.value.stage == "rollout"


def test_what_nobody_foresaw_is_told_with_its_kind_and_logged_whole(
    apart: Apart, caplog: pytest.LogCaptureFixture
) -> None:
    policy = apart("policy")
    turn(policy)
    hardly = RolloutBatchReady(0, 1, *[np.zeros(0, np.float32)] * 7)
    with caplog.at_level("INFO"), pytest.raises(RuntimeError, match=r"^ValueError: "):
        turn(policy, hardly)
    assert "Traceback" in caplog.text and "core/policy" in caplog.text


def test_what_is_logged_there_is_logged_here(
    apart: Apart, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("core.headless.lockstep._child", failing.noted_in_lockstep)
    policy = apart("policy")
    turn(policy)
    assert [record.message for record in caplog.records] == [f"heard in {policy._process.pid}"]
    assert caplog.records[0].name == "core.jobs.policy"
    caplog.clear()


def test_ctrl_c_is_not_for_the_processes() -> None:
    with closing(ProcessPort(JobSpec("policy", tiny().to_dict()), 1)) as policy:
        os.kill(policy._process.pid or 0, signal.SIGINT)  # while it still imports
        policy.ready()
        turn(policy)
        os.kill(policy._process.pid or 0, signal.SIGINT)
        assert turn(policy) == []


def test_a_killed_process_is_told_of_in_one_sentence_and_the_session_goes_on(tmp_path: Path) -> None:
    config = tiny(teacher="none")
    session = Session.create(tmp_path / "s", config)
    run = HeadlessRun(session, lambda event: None, apart=True)
    for _ in range(3):
        run.cycle()
    run.save()
    port = run._ports["policy"]
    assert isinstance(port, ProcessPort)
    os.kill(port._process.pid or 0, signal.SIGKILL)
    with pytest.raises(StageFailedError, match=r"the policy stage failed .*exit code -9.*checkpoint 1 and every"):
        run.run()
    run.close()
    session.close()
    assert [child.name() for child in psutil.Process().children() if "job-" in child.name()] == []
    session = Session.open(tmp_path / "s")
    with closing(HeadlessRun(session, lambda event: None)) as resumed:
        assert resumed.run().env_steps == config.steps
    session.close()


@pytest.mark.parametrize("robot", PAPER_ROBOTS)
def test_robots_have_processes_where_there_are_cores_for_them(robot: str) -> None:
    task = get_task(robot)
    whole = replaced(Config(task=robot), **dict(task.presets))
    assert headless._long(whole)
    assert not headless._long(replaced(whole, steps=100_000))
    assert not headless._long(replaced(whole, rollout__steps=5))


@pytest.mark.parametrize("task", ["pong", "gym:CartPole-v1"])
def test_what_is_large_or_small_to_pass_around_stays_in_one_process(task: str) -> None:
    assert not headless._long(replaced(Config(task=task), **{**get_task(task).presets, "steps": 10**7}))
