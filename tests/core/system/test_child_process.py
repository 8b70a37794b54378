"""Jobs in child processes: real ones."""

from __future__ import annotations

import errno
import functools

import numpy as np
import pytest

from core.events import (
    ClipsRendered,
    ClipsRequested,
    Failed,
    Paused,
    PolicyPublished,
    PolicyUpdated,
    StateRequested,
    StateSaved,
    Waited,
)
from core.system.child_process import JobProcess, JobSpec
from core.system.shared_memory import Envelope
from tests.core import failing
from tests.core.builders import tiny
from tests.core.children import SECONDS, Start, batch, is_gone, next_of


def test_a_child_starts_answers_and_stops(start: Start) -> None:
    child = start("policy")
    assert next_of(child, PolicyPublished).version == 0
    child.send(batch())
    assert next_of(child, PolicyUpdated).version == 1
    assert next_of(child, PolicyPublished).version == 1
    assert child.alive and child.pid is not None
    child.stop(SECONDS)
    assert is_gone(child.pid) and not child.alive


def test_a_child_gives_its_state_and_another_goes_on_from_it(start: Start) -> None:
    first = start("policy")
    next_of(first, PolicyPublished)
    first.send(batch())
    weights = next_of(first, PolicyPublished).weights
    first.send(StateRequested(5))
    saved = next_of(first, StateSaved)
    assert (saved.job, saved.number) == ("policy", 5)
    published = next_of(start("policy", saved.state), PolicyPublished)
    assert published.version == 1
    assert all((published.weights[name] == weights[name]).all() for name in weights)


def test_what_is_sent_before_the_child_is_started_waits_for_the_job(start: Start) -> None:
    first = start("policy")
    next_of(first, PolicyPublished)
    first.send(StateRequested(1))
    child = JobProcess(JobSpec("policy", tiny().to_dict(), next_of(first, StateSaved).state))
    child.send(batch())
    child.send(StateRequested(2))
    child.start()
    assert next_of(child, StateSaved).number == 2
    assert next_of(child, PolicyUpdated).version == 1
    child.stop(SECONDS)


def test_a_paused_child_holds_still_and_then_goes_on(start: Start) -> None:
    child = start("policy")
    next_of(child, Waited)
    child.send(Paused(True))
    child.send(StateRequested(1))
    next_of(child, StateSaved)  # so the pause has begun, and it still answers for its state
    child.send(batch())
    child.send(StateRequested(2))
    next_of(child, StateSaved)
    assert child.receive(0.5) is None
    child.send(Paused(False))
    assert next_of(child, PolicyUpdated).version == 1
    child.send(Paused(True))
    child.stop(SECONDS)  # which it hears while it is paused, too
    assert child.pid is not None and is_gone(child.pid)


def test_a_job_that_fails_says_so_and_ends(start: Start) -> None:
    child = start("policy")
    next_of(child, Waited)
    bad = batch()
    bad.rewards[0, 0] = np.nan
    child.send(bad)
    failed = next_of(child, Failed)
    assert failed.job == "policy"
    assert "policy: the reward is no longer finite" in failed.summary and "\n" not in failed.summary
    assert "Traceback" in failed.text
    assert child.pid is not None and is_gone(child.pid)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("rollout", RuntimeError("as injected")),
        ("reward", RuntimeError("as injected")),
        ("policy", OSError(errno.EIO, "as injected")),
        ("clips", BrokenPipeError(errno.EPIPE, "as injected")),  # of its own: nobody has left the pipe
    ],
)
def test_whatever_a_job_raises_is_told_of(
    start: Start, monkeypatch: pytest.MonkeyPatch, name: str, error: Exception
) -> None:
    monkeypatch.setattr("core.system.child_process._child", functools.partial(failing.child, error=error))
    child = start(name)
    failed = next_of(child, Failed)
    assert failed.job == name and "as injected" in failed.summary and "Traceback" in failed.text
    assert child.pid is not None and is_gone(child.pid)


def test_an_event_whose_arrays_are_gone_fails_the_job_and_is_not_taken_for_the_parents_end(start: Start) -> None:
    child = start("policy")
    next_of(child, Waited)
    child._pipe.send(Envelope(b"", "no_such_block", (100_000,)))
    assert "FileNotFoundError" in next_of(child, Failed).summary


def test_clips_are_drawn_in_a_child(start: Start) -> None:
    from core.envs.mujoco import MujocoVectorEnv
    from core.tasks import get_task
    from core.types import Segment

    task = get_task("hopper-backflip")
    env = MujocoVectorEnv(task, 1, np.random.default_rng(0), threads=1)
    states = np.repeat(env.states, 4, axis=0)
    env.close()
    segment = Segment(1, np.zeros((4, 12), np.float32), np.zeros((4, 3), np.float32), states, None, 0)
    child = start("clips")
    child.send(ClipsRequested(8, (segment, segment), 48, 1 / task.step_seconds))
    rendered = next_of(child, ClipsRendered)
    assert rendered.token == 8
    assert [frames.pixels.shape for frames in rendered.clips] == [(4, 48, 48, 3)] * 2
