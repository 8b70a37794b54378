"""Jobs that take turns in their own real processes, some of which are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.config import Config, replaced
from core.errors import NotFiniteError, StageFailedError, UserError
from core.events import AnswersReplayed, Event, JobSpec, JobState, RewardPublished, RolloutBatchReady, RolloutReported
from core.headless import run as headless
from core.headless.lockstep import LocalPort, ProcessPort, TurnPort
from core.headless.run import HeadlessRun
from core.nn.stacked_mlp import CPU
from core.nn.state import state_arrays
from core.reward.ensemble import build_ensemble
from core.session.session import Session
from core.tasks import PAPER_ROBOTS, get_task
from tests.core.builders import tiny
from tests.core.children import is_gone, pid_of
from tests.processes import parts

Apart = Callable[..., ProcessPort]


@pytest.fixture
def apart() -> Iterator[Apart]:
    made: list[ProcessPort] = []

    def start(name: str, state: JobState | None = None, **changes: Any) -> ProcessPort:
        made.append(ProcessPort(JobSpec(name, tiny(**changes).to_dict(), state), 1))
        made[-1].wait_until_ready()
        return made[-1]

    yield start
    for port in made:
        port.close()
        port.close()  # has no effect the second time


def turn(port: TurnPort, *events: Event) -> list[Event]:
    for event in events:
        port.send(event)
    port.start_turn()
    return port.finish_turn()


def test_a_turn_is_one_batch_even_if_more_may_be_collected(apart: Apart) -> None:
    (published,) = turn(LocalPort(JobSpec("policy", tiny().to_dict()), 1))
    rollout = apart("rollout", teacher="none", policy__lag=3)
    events = turn(rollout, AnswersReplayed(), published)
    for steps in (256, 512, 768, 1024):
        assert [event.env_steps for event in events if isinstance(event, RolloutReported)] == [steps]
        events = turn(rollout)
    assert events == []  # as far ahead as allowed


def test_an_exception_of_a_job_is_raised_in_the_caller(apart: Apart) -> None:
    with pytest.raises(UserError, match="checkpoint"):
        apart("policy", JobState({}, {"version": 1}))
    (published,) = turn(LocalPort(JobSpec("policy", tiny().to_dict()), 1))
    weights = state_arrays(build_ensemble(tiny(), CPU))
    spoiled = {name: np.full_like(array, np.nan) for name, array in weights.items()}
    with pytest.raises(NotFiniteError, match="rollout: the predicted reward") as failed:
        turn(apart("rollout"), AnswersReplayed(), RewardPublished(spoiled), published)
    assert failed.value.args[0] == "rollout"
    policy = apart("policy")
    turn(policy)
    with pytest.raises(RuntimeError, match=r"^ValueError: ") as crashed:
        turn(policy, RolloutBatchReady(0, 1, *[np.zeros(0, np.float32)] * 7))
    assert "core/policy" in crashed.value.__notes__[0]  # the place of the failure, for the log


@pytest.mark.slow
def test_a_killed_process_is_reported_in_one_sentence_and_the_session_resumes(tmp_path: Path) -> None:
    config = tiny(teacher="none")
    session = Session.create(tmp_path / "s", config)
    run = HeadlessRun(session, lambda event: None, apart=True)
    for _ in range(3):
        run.cycle()
    run.save()
    pid = pid_of("policy")
    os.kill(pid, signal.SIGKILL)
    assert is_gone(pid)
    with pytest.raises(StageFailedError, match=r"the policy stage failed .*exit code -9.*checkpoint 1 and all"):
        run.run()
    run.close()
    session.close()
    assert parts() == []
    session = Session.open(tmp_path / "s")
    with closing(HeadlessRun(session, lambda event: None)) as resumed:
        assert resumed.run().env_steps == config.steps
    session.close()


@pytest.mark.parametrize("robot", PAPER_ROBOTS)
def test_long_sessions_of_robots_use_processes(robot: str) -> None:
    whole = replaced(Config(task=robot), **dict(get_task(robot).presets))
    assert headless.worth_processes(whole)
    assert not headless.worth_processes(replaced(whole, steps=100_000))
    assert not headless.worth_processes(replaced(whole, rollout__steps=5))
    for task in ("pong", "gym:CartPole-v1"):
        assert not headless.worth_processes(replaced(Config(task=task), **{**get_task(task).presets, "steps": 10**7}))
