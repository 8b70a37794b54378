"""What child processes have in common: how they are begun and spoken with, how they end, what of a failure is told."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np

from core.errors import NotFiniteError, UserError

_SHARED_BYTES = 1 << 23
"""For what a batch of the usual size brings. Through the pipe an Ant's took a fortieth of the time in which it was
gathered; what doesn't fit goes that way."""
_Shared = ctypes.Array[ctypes.c_uint8]


@dataclass(frozen=True)
class Link:
    """Between two processes of which one asks and the other answers: a pipe, and memory for what was told last."""

    pipe: Connection
    shared: _Shared

    def tell(self, said: object) -> None:
        buffers: list[pickle.PickleBuffer] = []
        body = pickle.dumps(said, 5, buffer_callback=buffers.append)
        sizes = [buffer.raw().nbytes for buffer in buffers]
        if sum(sizes) > len(self.shared):
            self.pipe.send((pickle.dumps(said, 5), []))
            return
        start, place = 0, memoryview(self.shared).cast("B")
        for buffer, size in zip(buffers, sizes, strict=True):
            place[start : start + size] = buffer.raw()
            start += size
        self.pipe.send((body, sizes))

    def hear(self, borrow: bool = False) -> Any:
        """What was told last. borrow: its arrays may be those in the memory, and last until something is told again."""
        body, sizes = self.pipe.recv()
        ends, place = np.cumsum(sizes, dtype=np.int64).tolist(), memoryview(self.shared).cast("B")
        parts = [place[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        return pickle.loads(body, buffers=parts if borrow else map(bytearray, parts))


def spawned(name: str, target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Link]:
    """A process that does target(link, *arguments), and this end of the link, which ends with it. Ctrl+C is kept from
    it. Not forked: a process with threads must not be."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    shared = context.RawArray(ctypes.c_uint8, _SHARED_BYTES)
    process = context.Process(target=target, args=(Link(theirs, shared), *arguments), name=name, daemon=True)
    with _interrupts_kept_from_children():
        process.start()
    theirs.close()  # so that its death is the pipe's end
    return process, Link(ours, shared)


@contextlib.contextmanager
def _interrupts_kept_from_children() -> Iterator[None]:
    """Ctrl+C reaches the whole group of processes, and is the parent's to answer; a child inherits what is blocked."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows, where the child has to see to it itself
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it comes with the first child otherwise, and unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def belong_to_parent() -> None:
    """For a child to begin with: Ctrl+C is for those that are asked to end in order, and it ends with its parent, of
    whose end it would not hear in the midst of its work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(0)


def portable(error: Exception) -> Exception:
    """What can cross to another process and be raised there."""
    if isinstance(error, UserError):
        return UserError(str(error))
    if isinstance(error, NotFiniteError | MemoryError) or type(error) is RuntimeError:
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
