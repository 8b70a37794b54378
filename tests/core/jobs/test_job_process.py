"""Jobs of the window in real child processes, and the end of these and of their own children."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from core.events import Failed, JobSpec, Paused, PolicyPublished, StateRequested, StateSaved, Waited
from core.jobs.job_process import JobProcess
from core.system.shared_memory import Envelope
from tests.core.builders import tiny
from tests.core.children import Start, batch, is_gone, next_of, pid_of
from tests.screens import ROOT, running


@pytest.fixture(scope="module")
def taught() -> Iterator[tuple[JobProcess, PolicyPublished]]:
    """The process of a policy job after one update, and the snapshot that it published."""
    child = JobProcess(JobSpec("policy", tiny().to_dict()))
    child.start()
    assert next_of(child, PolicyPublished).version == 0
    child.send(batch())
    published = next_of(child, PolicyPublished)
    assert published.version == 1
    yield child, published
    pid = pid_of("policy")
    child.send(Paused(True))
    child.stop()  # ends a paused job as well
    child.stop()
    assert is_gone(pid)


def test_a_child_resumes_from_the_state_of_another_with_events_sent_before_its_start(
    taught: tuple[JobProcess, PolicyPublished],
) -> None:
    first, published = taught
    first.send(StateRequested(5))
    saved = next_of(first, StateSaved)
    assert (saved.job, saved.number) == ("policy", 5)
    second = JobProcess(JobSpec("policy", tiny().to_dict(), saved.state))
    try:
        second.send(StateRequested(6))
        second.start()
        resumed = next_of(second, PolicyPublished)
        assert next_of(second, StateSaved).number == 6
        assert resumed.version == published.version == 1
        assert all(np.array_equal(resumed.weights[name], published.weights[name]) for name in published.weights)
        bad = batch()
        bad.rewards[0, 0] = np.nan
        second.send(bad)
        failed = next_of(second, Failed)
        assert failed.job == "policy" and "the reward is no longer finite" in failed.summary
        assert "\n" not in failed.summary and "Traceback" in failed.text
    finally:
        second.stop()


def test_a_paused_job_rests_but_returns_its_state(taught: tuple[JobProcess, PolicyPublished]) -> None:
    child, published = taught
    next_of(child, Waited)
    child.send(Paused(True))
    for number in (1, 2):
        child.send(StateRequested(number))
        while next_of(child, StateSaved).number != number:
            pass
        child.send(batch())
    child.send(StateRequested(3))
    assert next_of(child, StateSaved).state.values["version"] == published.version
    child.send(Paused(False))
    assert next_of(child, PolicyPublished).version == published.version + 1


@pytest.mark.slow_after_first
@pytest.mark.parametrize("content", [b"no pickle", b""])
def test_an_event_that_cannot_be_read_fails_the_job_instead_of_being_waited_for(start: Start, content: bytes) -> None:
    child = start("previews")
    child.send(Envelope(Waited, (len(content),), content))
    failed = next_of(child, Failed)
    assert failed.job == "previews" and "Traceback" in failed.text


PARENT = """
from contextlib import closing
from core.events import Paused, StateRequested, StateSaved
from core.events import JobSpec
from core.jobs.job_process import JobProcess
from core.system.child_process import ChildProcess
from tests.core import failing
from tests.core.builders import tiny
from tests.core.children import pid_of
from tests.processes import parts
if __name__ == "__main__":
    busy = ChildProcess("busy", failing.run_server)
    busy.start()
    busy.request("hang")
    config = tiny(task="pendulum", rollout__environments=256)
    child = JobProcess(JobSpec("rollout", config.to_dict()))
    child.start()
    child.send(Paused(True))
    child.send(StateRequested(1))
    while not ((message := child.receive(60)) and message.kind is StateSaved):
        pass
    print(pid_of("busy"), pid_of("rollout"), *(process.pid for process in parts(pid_of("rollout"))), flush=True)
    child.receive(3600)
"""


def test_children_end_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with running([sys.executable, script], stdout=subprocess.PIPE, env=environ) as parent:
        busy, job, *collectors = map(int, parent.stdout.readline().split())
        assert len(collectors) == 1 and all(map(psutil.pid_exists, collectors))
        parent.kill()
        assert all(map(is_gone, (busy, job, *collectors)))
