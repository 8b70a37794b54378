from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import core  # noqa: F401 - before any test imports mujoco: chooses how MuJoCo renders without a display
from core.envs.mujoco import MujocoVectorEnv
from core.events import JobSpec, JobState
from core.jobs.job_process import JobProcess
from core.nn.threads import limit_threads
from core.tasks import CATALOGUE, get_task
from tests.core import picture_toys
from tests.core.builders import tiny
from tests.core.children import Start


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Use one thread like the children, as threads wait for each other on few cores. A test may choose more."""
    limit_threads(1)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the test's own folder the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def block_task(monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a task of pictures that is added to the catalogue."""
    monkeypatch.setitem(CATALOGUE, picture_toys.TASK.name, picture_toys.TASK)
    monkeypatch.setattr("core.envs.gymnasium.GymVectorEnv", picture_toys.BlockBatch)
    return picture_toys.TASK.name


@pytest.fixture
def start() -> Iterator[Start]:
    """Start jobs in their own processes, which all end with the test."""
    made: list[JobProcess] = []

    def run(name: str, state: JobState | None = None, config: dict[str, Any] | None = None) -> JobProcess:
        made.append(JobProcess(JobSpec(name, config or tiny().to_dict(), state)))
        made[-1].start()
        return made[-1]

    yield run
    for process in made:
        process.stop()


@pytest.fixture
def batch() -> Iterator[Callable[..., MujocoVectorEnv]]:
    """Make environments of robots, by default four Hoppers that start together; all are closed at the end."""
    made: list[MujocoVectorEnv] = []

    def make(task: Any = None, environments: int = 4, rng: Any = None, **given: Any) -> MujocoVectorEnv:
        task, rng = task or get_task("hopper-backflip"), rng or np.random.default_rng(0)
        made.append(MujocoVectorEnv(task, environments, rng, **{"threads": 1, "staggered": False, **given}))
        return made[-1]

    yield make
    for env in made:
        env.close()
