"""Child processes that die, hang or lose their parent: real ones, really killed."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from core.events import (
    PolicyPublished,
    PolicyUpdated,
    RewardPublished,
    Waited,
)
from core.system.child_process import ChildDiedError, JobProcess, JobSpec
from core.system.shared_memory import Envelope, encode
from tests.core.builders import tiny
from tests.core.children import Start, batch, is_gone, next_of


def held_up(act: Callable[[], Any]) -> threading.Thread:
    """Started, and left alone for so long that it would have ended if it could."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(1.0)
    assert thread.is_alive()
    return thread


def send_until_it_is_gone(child: JobProcess) -> None:
    with pytest.raises(ChildDiedError):
        while True:
            child.send(RewardPublished(1, {"small": np.zeros(1000)}))


def test_a_killed_child_is_noticed_with_its_signal(start: Start) -> None:
    child = start("policy")
    next_of(child, PolicyPublished)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(ChildDiedError) as died:
        next_of(child, PolicyUpdated)
    assert died.value.exit_code == -signal.SIGKILL
    child.stop()  # does no harm


def test_what_could_not_be_sent_leaves_no_shared_memory_behind(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    child, made = start("policy"), list[Envelope]()
    next_of(child, Waited)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(ChildDiedError):
        next_of(child, PolicyUpdated)
    monkeypatch.setattr("core.system.shared_memory.encode", lambda event: made.append(encode(event)) or made[-1])
    with pytest.raises(ChildDiedError):
        child.send(batch(1000))
    assert made[-1].block is not None
    with pytest.raises(FileNotFoundError):
        shared_memory.SharedMemory(made[-1].block)


def test_a_child_that_does_not_read_any_more_is_ended_all_the_same(start: Start) -> None:
    child = start("policy")
    next_of(child, PolicyPublished)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGSTOP)
    sender = held_up(lambda: send_until_it_is_gone(child))  # the pipe is full
    stopper = threading.Thread(target=child.stop, daemon=True)
    stopper.start()
    stopper.join(5.0)
    sender.join(5.0)
    assert not stopper.is_alive() and not sender.is_alive() and is_gone(child.pid)


def test_whoever_waits_for_the_rest_of_an_event_is_freed_by_killing_the_child() -> None:
    child, ended = JobProcess(JobSpec("policy", tiny().to_dict())), list[ChildDiedError]()
    half = os.dup(child._child_end.fileno())
    child.start()
    next_of(child, Waited)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGSTOP)
    while child.receive(0.1):
        pass
    os.write(half, struct.pack("!i", 1000))  # as the pipe begins an event of 1,000 bytes
    os.close(half)

    def receive() -> None:
        with pytest.raises(ChildDiedError) as died:
            child.receive(1.0)
        ended.append(died.value)

    receiver = held_up(receive)
    child.kill()
    receiver.join(5.0)
    child.stop()
    assert not receiver.is_alive() and ended[0].exit_code == -signal.SIGKILL


def test_one_that_was_never_started_is_let_go() -> None:
    child = JobProcess(JobSpec("policy", tiny().to_dict()))
    child.kill()
    child.stop()
    child.stop()
    with pytest.raises(ChildDiedError):
        child.send(Waited("rollout", "why"))


ROOT = Path(__file__).resolve().parents[2]

PARENT = """
import sys
from core.events import Paused, StateRequested, StateSaved
from core.processes import JobProcess, JobSpec
from tests.core import failing
from tests.core.builders import tiny
if __name__ == "__main__":
    child = JobProcess(JobSpec("policy", tiny().to_dict()))
    child.start()
    if sys.argv[1] == "paused":
        child.send(Paused(True))
    child.send(StateRequested(1))
    while not isinstance(child.receive(60), StateSaved):
        pass
    print(child.pid, flush=True)
    while True:
        child.receive(1)
"""


@pytest.mark.parametrize("state", ["waiting", "paused"])
def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path, state: str) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, script, state], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert psutil.pid_exists(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert is_gone(pid)
