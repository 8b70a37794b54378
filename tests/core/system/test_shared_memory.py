"""Messages between processes: arrays arrive unchanged, and no shared memory remains."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from core.system.link import Link, LinkEndedError
from core.system.shared_memory import encode
from tests.core.children import left_open

LARGE = np.arange(60_000, dtype=np.float64).reshape(200, 300)


def linked() -> tuple[Link, Link]:
    ours, pipe = Link.pair()
    return ours, Link(pipe)


ARRAYS = [LARGE, LARGE.T, LARGE[::2, ::3], LARGE > 5, np.zeros((0, 3)), np.array(3.0)]


def test_arrays_arrive_unchanged_and_belong_to_the_receiver() -> None:
    """The arrays have any layout, in small and in large messages."""
    before = left_open()
    for array, beside in product(ARRAYS, (np.zeros(3), LARGE)):
        one, other = linked()
        one.send(("words", array, beside))
        words, received, _ = other.receive()
        assert words == "words" and np.array_equal(received, array) and received.dtype == array.dtype
        if array.size:
            received[...] = 0  # writable, without effect on the sender
            assert array.any()
        one.close(), other.close()
    assert left_open() <= before


def test_a_message_is_forwarded_to_several_receivers_unopened() -> None:
    before, links = left_open(), [linked() for _ in range(3)]
    links[0][0].send({"weights": LARGE})
    envelope = links[0][1].receive_envelope()
    assert envelope.kind is dict
    for sender, _ in links[1:]:
        sender.send(envelope)
    envelope.close()
    for _, receiver in links[1:]:
        assert np.array_equal(receiver.receive()["weights"], LARGE)
    for pair in links:
        pair[0].close(), pair[1].close()
    assert left_open() <= before


def unread(one: Link, other: Link) -> None:
    one.send(LARGE)


def to_nobody(one: Link, other: Link) -> None:
    other.close()
    with pytest.raises(LinkEndedError):
        one.send(LARGE)


def forwarded_to_nobody(one: Link, other: Link) -> None:
    envelope = encode(LARGE)
    other.close()
    with pytest.raises(LinkEndedError):
        one.send(envelope)
    envelope.close()


class Unreadable:
    def __init__(self) -> None:
        self.array = LARGE

    def __setstate__(self, state: Any) -> None:
        raise ValueError("as injected")


def unreadable(one: Link, other: Link) -> None:
    one.send(Unreadable())
    with pytest.raises(ValueError, match="as injected"):
        other.receive()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("act", [unread, to_nobody, forwarded_to_nobody, unreadable])
def test_nothing_is_left_of_a_message_that_is_not_received(act: Callable[[Link, Link], None]) -> None:
    before, (one, other) = left_open(), linked()
    act(one, other)
    one.close(), other.close()
    assert left_open() <= before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device without room")
def test_a_message_too_large_for_memory_raises_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = left_open()
    monkeypatch.setattr(os, "memfd_create", lambda *_: os.open("/dev/full", os.O_RDWR | os.O_CLOEXEC))
    with pytest.raises(OSError, match="No space left"):
        encode(LARGE)
    assert left_open() <= before


def test_running_out_of_descriptors_is_not_taken_for_a_closed_pipe() -> None:
    resource = pytest.importorskip("resource")
    one, other = linked()
    one.send(LARGE)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.close(lowest_free := os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            other.receive()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    one.close(), other.close()
