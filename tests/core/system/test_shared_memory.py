"""How events cross to another process: large arrays in shared memory, and what can't be taken in."""

from __future__ import annotations

import errno
import os
import queue
from multiprocessing import shared_memory
from typing import Any

import numpy as np
import pytest

from core.events import (
    Event,
    RewardPublished,
    Waited,
)
from core.system import child_process
from core.system.child_process import JobProcess, JobSpec
from core.system.shared_memory import Envelope, decode, encode
from tests.core.builders import tiny


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
        monkeypatch.setattr(child_process, "decode", refuse)
    inbox: Any = queue.SimpleQueue()
    pipe: Any = Mailbox(encode(Waited("rollout", "why")) if where == "decode" else error)
    if where == "recv" and number == errno.EPIPE:
        with pytest.raises(SystemExit):
            child_process._listen(pipe, inbox)
    else:
        child_process._listen(pipe, inbox)
        assert inbox.get_nowait().error is error


def test_the_parent_too_tells_a_child_that_died_from_an_event_that_it_cannot_take_in() -> None:
    child = JobProcess(JobSpec("policy", tiny().to_dict()))
    child._child_end.send(Envelope(b"", "no_such_block", (100_000,)))
    with pytest.raises(FileNotFoundError):
        child.receive(1.0)
    child.stop()
