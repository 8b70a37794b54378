"""Child processes: spawned or forked, connected by a link, and ended with their parent.

Importing torch takes seconds and a hundred megabytes. On Linux, children that need it are forked from one process that
has imported it and does nothing else; all others are spawned.

A child ignores the signals to stop (core.system.interrupts), which reach the whole process group and are handled by the
parent, and it ends whenever its parent ends. Its log messages of level WARNING or above are sent to its parent, as is the
exception that ends it. This module imports neither Qt nor large libraries, as the window imports it.

There are three kinds of children. One that runs a job for the window (core.jobs.job_process) sends events at any time.
One that computes on request (`serve`) answers each Request with one Reply. One that computes the cells of a sweep
(core.sweep.local) sends the progress of each cell and then its document.
"""

import atexit
import contextlib
import functools
import logging
import multiprocessing
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from core.errors import ChildDiedError, NotFiniteError, UserError, lack, summary
from core.events import Failed, Logged
from core.system.interrupts import STOPPING
from core.system.link import Link, LinkEndedError
from core.system.shared_memory import Envelope

log = logging.getLogger(__name__)
_EXIT_SECONDS = 1.0
"""Longest time in seconds to wait for the exit of a killed child."""
_IMPORTED = ("core.jobs.policy", "core.jobs.reward")
"""Modules already imported in forked children: torch, but nothing that opens an OpenGL display or a GPU, which forked
processes can't share.
"""
_NICE_VARIABLE = "SOMERSAULT_NICE"
"""Environment variable that overrides the niceness of all children. Tests set it to 0: on a busy machine, a process with a
higher niceness gets almost no time."""


@dataclass(frozen=True)
class Request:
    """Request for the result of a method of the child's server."""

    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Reply:
    """The result of a requested method."""

    method: str
    value: Any


def _niceness(usual: int) -> int:
    """Return the user's choice of the niceness of child processes, else `usual`. Raises UserError if it is not valid."""
    chosen = os.environ.get(_NICE_VARIABLE, "")
    if chosen and chosen not in map(str, range(20)):
        raise UserError(f"{_NICE_VARIABLE} is {chosen!r:.40}: set it to a number from 0 to 19, or unset it.")
    return int(chosen) if chosen else usual


class ChildProcess:
    """A process that runs `target(link, *arguments)`. `send` and `kill` may be called from any thread."""

    def __init__(
        self, name: str, target: Callable[..., None], *arguments: Any, nice: int = 0, torch: bool = False
    ) -> None:
        """arguments: small objects only; large ones must be sent, since a child that hangs would block its own start
        nice: niceness of the process; torch: whether the child needs torch
        """
        self.name = name
        self._link, self._child_end = Link.pair()
        self._how = {
            "target": _run,
            "args": (self._child_end, name, _niceness(nice), target, arguments),
            "name": f"somersault-{name}",
            "daemon": True,
        }
        self._torch, self._killed = torch, False
        self._process = self._make("spawn")
        self._sending = threading.Lock()
        self._answers: dict[str, Any] = {}

    def _make(self, method: str) -> BaseProcess:
        made: BaseProcess = multiprocessing.get_context(method).Process(**self._how)  # type: ignore[attr-defined]
        return made

    def start(self) -> None:
        """Start the process. If that fails, or if `kill` was called meanwhile, all other methods treat the child as dead."""
        with _requests_blocked():
            if self._torch and _can_fork():
                self._process = self._make("forkserver")
            with contextlib.suppress(EOFError, ConnectionError):  # the forking process has died, and so has the child
                self._process.start()
        self._child_end.close()  # so that the pipe is closed when the child ends
        if self._killed:
            self.kill()

    def send(self, message: object) -> None:
        """Send a message, or forward the one in an Envelope. Raises ChildDiedError if the child is gone."""
        try:
            with self._sending:
                self._link.send(message)
        except LinkEndedError as error:
            raise self._death() from error

    def _death(self) -> ChildDiedError:
        if self._process.pid is not None:
            self._process.join(_EXIT_SECONDS)
        return ChildDiedError(self.name, self._process.exitcode)

    def receive(self, timeout: float | None) -> Envelope | None:
        """Return the next message, or None after `timeout` seconds. Raises ChildDiedError if no more messages can arrive.

        A child that stops in the middle of a message blocks this call until it is killed.
        """
        try:
            return self._link.receive_envelope() if self._link.poll(timeout) else None
        except LinkEndedError as error:
            raise self._death() from error

    def request(self, method: str, *arguments: Any) -> None:
        """Request the result of a method of the child's server; `answer` returns it."""
        with contextlib.suppress(ChildDiedError):  # raised by `answer`
            self.send(Request(method, arguments))

    def answer(self, method: str) -> Any:
        """Wait for the result of the last request of this method.

        Raises the method's exception, with the child's traceback as a note, or ChildDiedError.
        """
        while not self.answered(method, None):
            pass
        return self._answers.pop(method)

    def answered(self, method: str, timeout: float | None) -> bool:
        """Wait up to `timeout` seconds for the next message; return whether the answer has arrived. Raises as `answer`."""
        if method not in self._answers and (envelope := self.receive(timeout)):
            with contextlib.closing(envelope):
                message = envelope.decode()
            if isinstance(message, Logged):
                log_from_child(message)
            elif isinstance(message, Failed):
                error = message.error or RuntimeError(message.summary)
                error.add_note(message.text)
                raise error
            else:
                self._answers[message.method] = message.value
        return method in self._answers

    def kill(self) -> None:
        """Kill the child; `receive` then raises ChildDiedError."""
        self._killed = True
        if self._process.pid is not None:
            self._process.kill()

    def close(self) -> None:
        """Kill the child, wait for its end and close the link. Safe to call twice, or if the child was never started."""
        self.kill()
        if self._process.pid is None:
            self._child_end.close()
        else:
            self._process.join(_EXIT_SECONDS)
        if self._sending.acquire(timeout=_EXIT_SECONDS):  # waits while another thread writes
            self._link.close()
            self._sending.release()


def log_from_child(event: Logged) -> None:
    """Log a message received from a child."""
    logging.getLogger(f"core.jobs.{event.job}").log(event.level, "%s", event.text)


@contextlib.contextmanager
def _requests_blocked() -> Iterator[None]:
    """Block the signals to stop while a child is created, which inherits its parent's blocked signals."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows, where only _run ignores the signals
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # otherwise it starts with the first child, and unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def preload() -> None:
    """Start the process from which children are forked, on Linux, so that the first children wait less for torch.

    Blocks for about ten milliseconds; the process itself imports torch for seconds, and can't end before that.
    """
    with _requests_blocked():
        _can_fork()


def _can_fork() -> bool:
    """Start the process from which children are forked, unless it is running. Returns False if children can't be forked.

    On systems other than Linux, graphics libraries can't be used in a forked process without exec.
    """
    if sys.platform != "linux":
        return False
    from multiprocessing import forkserver

    forkserver.set_forkserver_preload(list(_IMPORTED))
    # The paths of this process, as in a spawned child; by default it would search the current folder first.
    paths = os.pathsep.join(dict.fromkeys(map(os.path.abspath, sys.path)))
    with _server_starts, _environment(PYTHONPATH=paths, PYTHONSAFEPATH="1"):
        try:
            forkserver.ensure_running()
        except OSError as error:  # no socket can be created in the temporary folder
            _warn_slow_starts(f"{error}")
            return False
    return True


_server_starts = threading.Lock()


@functools.cache
def _warn_slow_starts(reason: str) -> None:
    """Log once for each reason why child processes start slowly."""
    log.warning("Each process imports torch for itself, as %s: set TMPDIR to a folder with a shorter path.", reason)


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Set environment variables for processes started in the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class ChildLink(Link):
    """A child's end of the link. Before each message, it sends the waiting log messages."""

    def __init__(self, pipe: Connection, name: str) -> None:
        super().__init__(pipe)
        self._name = name
        self._log: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
        handler = QueueHandler(self._log)
        handler.setLevel(logging.WARNING)
        logging.getLogger().addHandler(handler)

    def send(self, message: object) -> None:
        self.send_log()
        super().send(message)

    def send_log(self) -> None:
        """Send the waiting log messages."""
        while not self._log.empty():
            record = self._log.get()
            super().send(Logged(self._name, record.levelno, record.getMessage()))


def _run(pipe: Connection, name: str, nice: int, target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    if hasattr(os, "nice"):
        os.nice(nice)
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    multiprocessing.current_process().daemon = False  # a daemon may have no children of its own
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    link = ChildLink(pipe, name)
    with contextlib.suppress(LinkEndedError):
        try:
            target(link, *arguments)
        except LinkEndedError:
            raise
        except Exception as error:  # the boundary of the process: all exceptions are reported to the parent
            link.send(Failed(name, summary(error), traceback.format_exc(), lack(error), _portable(error)))
        finally:
            _kill_children()


def _kill_children() -> None:
    """Kill the children of this process: at exit, multiprocessing would terminate and join them, and hang."""
    for child in multiprocessing.active_children():
        child.kill()


atexit.register(_kill_children)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(0)


def _portable(error: Exception) -> Exception:
    """Return the exception in a form that can be pickled and raised in another process."""
    if isinstance(error, UserError):
        return UserError(str(error))
    if isinstance(error, NotFiniteError | MemoryError) or type(error) is RuntimeError:
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def serve(link: Link, server: Any) -> None:
    """Answer requests with the methods of `server`, and pass all other messages to its method `send`.

    Continues until the link ends or a method raises an exception.

    A method that is a generator answers with its return value. Between two yields other requests are served, so that a
    child can return its state during a longer computation.
    """
    while True:
        _serve_one(link, server)


def _serve_one(link: Link, server: Any) -> None:
    request = link.receive()
    if not isinstance(request, Request):
        server.send(request)
        return
    result = getattr(server, request.method)(*request.arguments)
    while isinstance(result, Generator):
        try:
            next(result)
        except StopIteration as end:
            result = end.value
        while link.poll():
            _serve_one(link, server)
    link.send(Reply(request.method, result))
