"""Jobs in child processes: real ones, really killed."""

from __future__ import annotations

import errno
import functools
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from core import processes
from core.events import (
    BatchCollected,
    ClipsRendered,
    ClipsRequested,
    Event,
    Failed,
    JobState,
    Paused,
    PolicyPublished,
    PolicyUpdated,
    RewardPublished,
    StateRequested,
    StateSaved,
    Waited,
)
from core.processes import Envelope, JobDiedError, JobProcess, JobSpec, decode, encode
from tests.core import failing
from tests.core.builders import tiny

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0
"""Far more than anything here takes; a test that waits for so long fails."""
Start = Callable[..., JobProcess]


def event_with(array: np.ndarray) -> RewardPublished:
    return RewardPublished(1, {"array": array, "small": np.arange(5)})


LARGE = np.arange(60_000, dtype=np.float64).reshape(200, 300)


@pytest.mark.parametrize(
    "array",
    [LARGE, LARGE.T, LARGE[::2, ::3], LARGE.astype(np.uint8), LARGE > 5, np.zeros((0, 3)), np.array(3.0)],
    ids=["plain", "transposed", "strided", "bytes", "flags", "empty", "single"],
)
def test_arrays_cross_unchanged(array: np.ndarray) -> None:
    result = decode(encode(event_with(array)))
    assert isinstance(result, RewardPublished)
    received = result.weights["array"]
    assert np.array_equal(received, array) and received.dtype == array.dtype
    assert result.weights["small"].tolist() == [0, 1, 2, 3, 4]


def test_large_arrays_stay_out_of_the_pipe() -> None:
    envelope = encode(event_with(LARGE))
    assert len(envelope.body) < 2_000
    assert sum(envelope.sizes) == LARGE.nbytes
    decode(envelope)


def test_small_events_need_no_shared_memory() -> None:
    envelope = encode(Waited("rollout", "why"))
    assert envelope.block is None
    assert decode(envelope) == Waited("rollout", "why")


def test_the_shared_memory_is_gone_once_read() -> None:
    envelope = encode(event_with(LARGE))
    assert envelope.block is not None
    decode(envelope)
    with pytest.raises(FileNotFoundError):
        shared_memory.SharedMemory(envelope.block)


def test_what_was_received_is_the_receivers_own() -> None:
    source = LARGE.copy()
    envelope = encode(event_with(source))
    source[:] = -1
    received = decode(envelope)
    assert isinstance(received, RewardPublished)
    received.weights["array"][0, 0] = 5  # and can be written to
    assert received.weights["array"][0, 1] == 1


@pytest.fixture
def start() -> Iterator[Start]:
    made: list[JobProcess] = []

    def run(name: str, state: JobState | None = None, config: dict[str, Any] | None = None) -> JobProcess:
        made.append(JobProcess(JobSpec(name, config or tiny().to_dict(), state)))
        made[-1].start()
        return made[-1]

    yield run
    for process in made:
        process.stop()


def next_of(process: JobProcess, kind: type[Event]) -> Any:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        event = process.receive(1.0)
        if isinstance(event, kind):
            return event
        assert not isinstance(event, Failed), event
    raise AssertionError(f"no {kind.__name__} came")


def is_gone(pid: int) -> bool:
    """Within the patience of these tests: it ended, or it waits only for its parent to notice."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def batch(size: int = 64) -> BatchCollected:
    rng = np.random.default_rng(0)
    observations = rng.standard_normal((4, size, 12)).astype(np.float32)
    actions, ends = rng.standard_normal((4, size, 3)).astype(np.float32), np.zeros((4, size), np.bool_)
    rewards = actions[..., 0]
    log_probs = (-0.5 * (actions**2).sum(2) - 1.5 * np.log(2 * np.pi)).astype(np.float32)
    none = np.zeros((0, 12), np.float32)
    return BatchCollected(0, 4 * size, observations, actions, log_probs, rewards, ends, none, observations[0])


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


def failure_of(child: JobProcess) -> Failed:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        event = child.receive(1.0)
        if isinstance(event, Failed):
            return event
    raise AssertionError("it did not fail")


def test_a_job_that_fails_says_so_and_ends(start: Start) -> None:
    child = start("policy")
    next_of(child, Waited)
    bad = batch()
    bad.rewards[0, 0] = np.nan
    child.send(bad)
    failed = failure_of(child)
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
    monkeypatch.setattr("core.processes._child", functools.partial(failing.child, error=error))
    child = start(name)
    failed = failure_of(child)
    assert failed.job == name and "as injected" in failed.summary and "Traceback" in failed.text
    assert child.pid is not None and is_gone(child.pid)


def test_an_event_whose_arrays_are_gone_fails_the_job_and_is_not_taken_for_the_parents_end(start: Start) -> None:
    child = start("policy")
    next_of(child, Waited)
    child._pipe.send(Envelope(b"", "no_such_block", (100_000,)))
    assert "FileNotFoundError" in failure_of(child).summary


class Mailbox:
    """A pipe's end from which this comes, and then this is raised."""

    def __init__(self, *items: Envelope | Exception) -> None:
        self._items = list(items)

    def poll(self, timeout: float) -> bool:
        return True

    def recv(self) -> Envelope:
        item = self._items.pop(0)
        if isinstance(item, Exception):
            raise item
        return item


@pytest.mark.parametrize("number", [errno.ENOMEM, errno.EMFILE, errno.EPIPE])
@pytest.mark.parametrize("where", ["decode", "recv"])
def test_what_the_system_refuses_while_an_event_is_taken_in_reaches_the_job(
    monkeypatch: pytest.MonkeyPatch, number: int, where: str
) -> None:
    error = OSError(number, os.strerror(number))

    def refuse(envelope: Envelope) -> Event:
        raise error

    def end(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr("os._exit", end)
    if where == "decode":
        monkeypatch.setattr(processes, "decode", refuse)
    inbox: Any = queue.SimpleQueue()
    pipe: Any = Mailbox(encode(Waited("rollout", "why")) if where == "decode" else error)
    if where == "recv" and number == errno.EPIPE:
        with pytest.raises(SystemExit):
            processes._listen(pipe, inbox)
    else:
        processes._listen(pipe, inbox)
        assert inbox.get_nowait().error is error


def test_the_parent_too_tells_a_child_that_died_from_an_event_that_it_cannot_take_in() -> None:
    child = JobProcess(JobSpec("policy", tiny().to_dict()))
    child._child_end.send(Envelope(b"", "no_such_block", (100_000,)))
    with pytest.raises(FileNotFoundError):
        child.receive(1.0)
    child.stop()


def test_a_killed_child_is_noticed_with_its_signal(start: Start) -> None:
    child = start("policy")
    next_of(child, PolicyPublished)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(JobDiedError) as died:
        next_of(child, PolicyUpdated)
    assert died.value.exit_code == -signal.SIGKILL
    child.stop()  # does no harm


def test_what_could_not_be_sent_leaves_no_shared_memory_behind(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    child, made = start("policy"), list[Envelope]()
    next_of(child, Waited)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(JobDiedError):
        next_of(child, PolicyUpdated)
    monkeypatch.setattr("core.processes.encode", lambda event: made.append(encode(event)) or made[-1])
    with pytest.raises(JobDiedError):
        child.send(batch(1000))
    assert made[-1].block is not None
    with pytest.raises(FileNotFoundError):
        shared_memory.SharedMemory(made[-1].block)


def held_up(act: Callable[[], Any]) -> threading.Thread:
    """Started, and left alone for so long that it would have ended if it could."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(1.0)
    assert thread.is_alive()
    return thread


def send_until_it_is_gone(child: JobProcess) -> None:
    with pytest.raises(JobDiedError):
        while True:
            child.send(RewardPublished(1, {"small": np.zeros(1000)}))


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
    child, ended = JobProcess(JobSpec("policy", tiny().to_dict())), list[JobDiedError]()
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
        with pytest.raises(JobDiedError) as died:
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
    with pytest.raises(JobDiedError):
        child.send(Waited("rollout", "why"))


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


def test_clips_are_drawn_in_a_child(start: Start) -> None:
    from core.envs.mujoco import MujocoBatch
    from core.records import Segment
    from core.tasks import find

    task = find("hopper-backflip")
    env = MujocoBatch(task, 1, np.random.default_rng(0), threads=1)
    states = np.repeat(env.states, 4, axis=0)
    env.close()
    segment = Segment(1, np.zeros((4, 12), np.float32), np.zeros((4, 3), np.float32), states, None, 0)
    child = start("clips")
    child.send(ClipsRequested(8, (segment, segment), 48, 1 / task.step_seconds))
    rendered = next_of(child, ClipsRendered)
    assert rendered.token == 8
    assert [frames.pixels.shape for frames in rendered.clips] == [(4, 48, 48, 3)] * 2
