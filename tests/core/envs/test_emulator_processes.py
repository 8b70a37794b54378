"""Emulators in processes of their own: as those of one process, and gone when they should be."""

from __future__ import annotations

import logging
import os
import signal
import time
from dataclasses import fields

import numpy as np
import psutil
import pytest

from core.envs.atari import AtariVectorEnv
from core.envs.emulator_processes import DividedEmulators
from core.envs.emulators import Emulators, EmulatorStep, InterfaceEmulators, Screens, emulators, rom
from core.events import StateRequested, StateSaved
from core.system.child_process import JobProcess, JobSpec
from core.tasks import get_task
from core.tasks.atari import AtariTask
from tests.core.builders import tiny

SECONDS = 60.0
COUNT, IN_COLOUR = 5, 3


def even() -> AtariTask:
    task = get_task("enduro-even")
    assert isinstance(task, AtariTask)
    return task


def children() -> list[psutil.Process]:
    """Emulators, as python calls what it spawns; without its own helper."""
    ours = psutil.Process().children(recursive=True)
    return [process for process in ours if "spawn_main" in " ".join(process.cmdline())]


def until_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, SECONDS)
    assert not alive


@pytest.fixture
def divided() -> DividedEmulators:
    return DividedEmulators(rom(even()), COUNT, 2, IN_COLOUR)


def told(answer: EmulatorStep | Screens) -> list[np.ndarray]:
    values = [getattr(answer, field.name) for field in fields(answer) if field.name != "failures"]
    return [array for value in values for array in (told(value) if isinstance(value, Screens) else [value])]


def assert_alike(one: EmulatorStep | Screens, other: EmulatorStep | Screens) -> None:
    for ours, theirs in zip(told(one), told(other), strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and (ours == theirs).all()


def test_they_are_those_of_one_process_row_by_row(divided: DividedEmulators) -> None:
    whole: Emulators = InterfaceEmulators(rom(even()), COUNT, IN_COLOUR)
    assert divided.actions == whole.actions == 9
    rng, seeds = np.random.default_rng(0), np.arange(COUNT) + 11
    assert_alike(divided.start(np.arange(COUNT), seeds), whole.start(np.arange(COUNT), seeds))
    for turn in range(30):
        actions = rng.integers(9, size=COUNT)
        shot = divided.step(actions)
        assert_alike(shot, whole.step(actions))
        assert len({picture.tobytes() for picture in shot.views.gray}) > 1 or turn < 20
        if turn == 20:  # some only, without seeds, and all in one of the processes
            assert_alike(divided.start(np.array([1, 3])), whole.start(np.array([1, 3])))
    assert shot.memory.shape == (COUNT, 128) and shot.views.colour.shape == (IN_COLOUR, 210, 160, 3)


class Answering:
    """A pipe to a process whose emulators failed."""

    def __init__(self, failures: dict[int, RuntimeError], count: int) -> None:
        self._views = Screens(np.zeros((count, 84, 84)), np.zeros((0, 210, 160, 3)), np.zeros(count), failures)

    def send(self, call: object) -> None: ...

    def recv(self) -> Screens:
        return self._views


def test_an_emulator_that_fails_is_told_by_its_number_among_all(divided: DividedEmulators) -> None:
    pipes, errors = divided._pipes, [RuntimeError(name) for name in ("first", "second", "third")]
    divided._pipes = [Answering({0: errors[0], 2: errors[1]}, 3), Answering({1: errors[2]}, 2)]  # type: ignore[list-item]
    assert divided.start(np.arange(COUNT)).failures == {0: errors[0], 4: errors[1], 3: errors[2]}
    divided._pipes = pipes


def test_where_memory_is_read_there_are_as_many_processes_as_threads_are_allowed() -> None:
    assert isinstance(emulators(even(), 4, 1), InterfaceEmulators)
    two, three = emulators(even(), 4, 2), emulators(even(), 3, 8)
    assert [len(games._pipes) for games in (two, three) if isinstance(games, DividedEmulators)] == [2, 3]


def test_the_processes_go_with_the_last_reference() -> None:
    games = DividedEmulators(rom(even()), 2, 2)
    processes = children()
    assert len(processes) == 2
    del games
    until_gone(processes)


def test_where_a_process_is_killed_new_games_begin_in_new_ones_and_it_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = AtariVectorEnv(even(), 4, np.random.default_rng(0), threads=2)
    nothing = np.eye(9, dtype=np.float32)[[0] * 4]
    env.step(nothing)
    before = children()
    before[0].kill()
    before[0].wait(SECONDS)
    with caplog.at_level(logging.CRITICAL):
        step = env.step(nothing)
    assert env.divergences == 1 and step.diverged.all() and not step.true_rewards.any() and not step.finished
    until_gone(before[1:])
    step = env.step(nothing)
    assert env._lengths.tolist() == [1] * 4 and not step.diverged.any() and len(children()) == 2


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_they_go_with_the_job_that_has_them(how: str) -> None:
    config = tiny(task="enduro-even", rollout__environments=2, rollout__threads=2)
    job = JobProcess(JobSpec("rollout", config.to_dict()))
    job.start()
    job.send(StateRequested(1))
    deadline = time.monotonic() + SECONDS
    while not isinstance(job.receive(1.0), StateSaved):
        assert time.monotonic() < deadline
    assert job.pid is not None
    theirs = [process for process in psutil.Process(job.pid).children() if "spawn_main" in " ".join(process.cmdline())]
    assert len(theirs) == 2
    if how == "killed":
        os.kill(job.pid, signal.SIGKILL)
    job.stop()
    until_gone(theirs)


def test_what_goes_wrong_in_a_process_is_told_in_its_own_words(divided: DividedEmulators) -> None:
    for pipe in divided._pipes:
        pipe.send(("fly",))
    with pytest.raises(RuntimeError, match="AttributeError: .*'fly'"):
        divided._answers()
