"""TODO-DOC."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import dataclass
from multiprocessing import shared_memory

import numpy as np

from core.events import Event

_SMALL = 1 << 14
"""Arrays below this many bytes stay in the pickle; a block of their own would cost more."""


@dataclass(frozen=True)
class Envelope:
    """An event ready for a pipe. `block` names the shared memory that holds its large buffers, end to end."""

    body: bytes
    block: str | None
    sizes: tuple[int, ...]


_NO_ENVELOPE = Envelope(b"", None, ())


def encode(event: Event) -> Envelope:
    """Pickles the event; arrays of _SMALL bytes and more go to a shared memory block that decode() unlinks."""
    buffers: list[memoryview] = []

    def keep_in_pickle(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _SMALL:
            return True
        buffers.append(raw)
        return False

    body = pickle.dumps(event, protocol=5, buffer_callback=keep_in_pickle)
    if not buffers:
        return Envelope(body, None, ())
    block = shared_memory.SharedMemory(create=True, size=sum(b.nbytes for b in buffers))
    name = block.name
    try:
        _reserve(name, block.size)
        _fill(block, buffers)
    except BaseException:
        block.unlink()
        raise
    finally:
        block.close()
    return Envelope(body, name, tuple(b.nbytes for b in buffers))


def _reserve(name: str, size: int) -> None:
    """OSError where there is no room. Linux hands shared memory out without having it, and kills who then fills it."""
    path = os.path.join("/dev/shm", name)
    if sys.platform != "linux" or not os.path.exists(path):
        return
    handle = os.open(path, os.O_RDWR)
    try:
        os.posix_fallocate(handle, 0, size)
    finally:
        os.close(handle)


def _fill(block: shared_memory.SharedMemory, buffers: list[memoryview]) -> None:
    target = np.frombuffer(_view(block), np.uint8)
    start = 0
    for buffer in buffers:
        target[start : start + buffer.nbytes] = np.frombuffer(buffer, np.uint8)
        start += buffer.nbytes
    del target  # or closing the block would fail: it refuses while anything looks into it


def _view(block: shared_memory.SharedMemory) -> memoryview:
    assert block.buf is not None, "the block is open"
    return block.buf


def decode(envelope: Envelope) -> Event:
    """The event, its arrays copied out of shared memory. An envelope can be decoded once."""
    if envelope.block is None:
        return pickle.loads(envelope.body)  # from our own child, never from a file
    block = shared_memory.SharedMemory(envelope.block)
    source = np.frombuffer(_view(block), np.uint8)
    edges = np.cumsum([0, *envelope.sizes])
    copies = [source[a:b].copy() for a, b in zip(edges[:-1], edges[1:], strict=True)]
    del source
    block.close()
    block.unlink()
    return pickle.loads(envelope.body, buffers=copies)


def discard(envelope: Envelope) -> None:
    """Frees the shared memory of an envelope that will not be decoded."""
    if envelope.block is not None:
        block = shared_memory.SharedMemory(envelope.block)
        block.close()
        block.unlink()
