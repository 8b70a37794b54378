"""What child processes have in common: how they are begun, how they end, and what of a failure can be told."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from core.errors import NotFiniteError, UserError


def spawned(name: str, target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A process that does target(pipe, *arguments), and this end of the pipe, which ends with it. Ctrl+C is kept from
    it. Not forked: a process with threads must not be."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), name=name, daemon=True)
    with _interrupts_kept_from_children():
        process.start()
    theirs.close()  # so that its death is the pipe's end
    return process, ours


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


def end_with_parent() -> None:
    """For a thread of a child: killed in the midst of its work, the child hears of its parent's end only so."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(0)


def portable(error: Exception) -> Exception:
    """What can cross to another process and be raised there."""
    if isinstance(error, UserError):
        return UserError(str(error))
    if isinstance(error, NotFiniteError | MemoryError):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
