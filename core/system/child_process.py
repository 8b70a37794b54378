"""Child processes: spawned or forked, connected by a link, and never left behind.

Importing torch takes seconds and a hundred megabytes. Children that need it are forked from one process that has
imported it and does nothing else, on Linux; the others are spawned.

A child ignores requests to stop (core.system.interrupts), which reach the whole group of processes and are the parent's
to answer, and ends with its parent, however that ends. What it logs at level WARNING or above goes to its parent, and
so does the exception that ends it. There is no Qt here, and nothing heavy: the window imports this module.

A child is used in one of two ways. One that runs a job for the window (core.jobs.job_process) sends events when it likes. One that
computes on request (`serve`) answers each Request with one Result.
"""

import atexit
import contextlib
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

from core.errors import NotFiniteError, UserError, lack, summary
from core.events import Failed, Logged
from core.system.interrupts import STOPPING
from core.system.link import Link, LinkEndedError
from core.system.shared_memory import Envelope

log = logging.getLogger(__name__)
_EXIT_SECONDS = 1.0
"""A killed child needs less to exit; if it does not, the system itself hangs."""
_IMPORTED = ("core.jobs.policy", "core.jobs.reward")
"""Modules that forked children have from the start: torch, and nothing that opens a display of OpenGL or a GPU, which
forks can't share.
"""
_NICE_VARIABLE = "SOMERSAULT_NICE"
"""Environment variable with the niceness of all children instead. Tests set it to 0: where other programs compute, a
nicer process gets next to no time."""


class ChildDiedError(Exception):
    """A child process has ended. exit_code: negative for a signal, None if it was never started."""

    def __init__(self, name: str, exit_code: int | None) -> None:
        super().__init__(name, exit_code)  # so that it can be sent to another process
        self.name, self.exit_code = name, exit_code

    def __str__(self) -> str:
        return f"the {self.name} process ended with exit code {self.exit_code}"


@dataclass(frozen=True)
class Request:
    """Asks a child for the result of one of its server's methods."""

    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Result:
    """The result of a requested method."""

    method: str
    value: Any


class ChildProcess:
    """A process that runs `target(link, *arguments)`. `send` and `kill` may be called from any thread."""

    def __init__(
        self, name: str, target: Callable[..., None], *arguments: Any, nice: int = 0, torch: bool = False
    ) -> None:
        """arguments: small ones; large ones must be sent, since a child that hangs would block its own start

        torch: the child needs it
        """
        self.name = name
        self._link, self._child_end = Link.pair()
        self._how = {
            "target": _run,
            "args": (self._child_end, name, nice, target, arguments),
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
        """Start the process. If that fails, or `kill` was called meanwhile, the child is dead for all other methods."""
        with _requests_blocked():
            if self._torch and _can_fork():
                self._process = self._make("forkserver")
            with contextlib.suppress(EOFError, ConnectionError):  # the process that forks has died; so has the child
                self._process.start()
        self._child_end.close()  # the pipe now ends with the child
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
        """Return the next message, or None after `timeout` seconds. Raises ChildDiedError when none can come any more.

        A child that stops in the middle of a message blocks this call until it is killed.
        """
        try:
            return self._link.receive_envelope() if self._link.poll(timeout) else None
        except LinkEndedError as error:
            raise self._death() from error

    def request(self, method: str, *arguments: Any) -> None:
        """Ask for the result of a method of the child's server; `answer` returns it."""
        with contextlib.suppress(ChildDiedError):  # noticed where the answer is missing
            self.send(Request(method, arguments))

    def answer(self, method: str) -> Any:
        """Wait for the result of the last request of this method.

        Raises what the method raised, with the child's traceback as a note, or ChildDiedError.
        """
        while not self.answered(method, None):
            pass
        return self._answers.pop(method)

    def answered(self, method: str, timeout: float | None) -> bool:
        """Wait up to `timeout` seconds for the next message; return whether the answer has come. Raises as `answer`."""
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
        """End the child at once, whatever it does; `receive` then raises ChildDiedError."""
        self._killed = True
        if self._process.pid is not None:
            self._process.kill()

    def close(self) -> None:
        """Kill the child, wait for its end and close the link. Safe to call twice, and if it was never started."""
        self.kill()
        if self._process.pid is None:
            self._child_end.close()
        else:
            self._process.join(_EXIT_SECONDS)
        if self._sending.acquire(timeout=_EXIT_SECONDS):  # not while another thread writes
            self._link.close()
            self._sending.release()


def log_from_child(event: Logged) -> None:
    logging.getLogger(f"core.jobs.{event.job}").log(event.level, "%s", event.text)


@contextlib.contextmanager
def _requests_blocked() -> Iterator[None]:
    """Block requests to stop while a child is made, which inherits the signals that its parent has blocked."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows, where _run alone ignores it
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # else it starts with the first child, and unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def preload() -> None:
    """Start the process from which children are forked, where there is one: the first of them then wait less for torch.

    Blocks for some ten milliseconds; the process itself needs seconds, and ends with this one only after them.
    """
    with _requests_blocked():
        _can_fork()


def _can_fork() -> bool:
    """Start the process from which children are forked, unless it runs. Return False if this system has none.

    Elsewhere than on Linux, libraries of graphics may not be used in a process that was forked without being replaced.
    """
    if sys.platform != "linux":
        return False
    from multiprocessing import forkserver

    forkserver.set_forkserver_preload(list(_IMPORTED))
    # Python's own paths, as for a spawned child: it would look for modules in the user's current folder first.
    paths = os.pathsep.join(dict.fromkeys(map(os.path.abspath, sys.path)))
    with _server_starts, _environment(PYTHONPATH=paths, PYTHONSAFEPATH="1"):
        try:
            forkserver.ensure_running()
        except OSError:  # no socket can be made in the folder for temporary files, such as one with a long path
            log.warning("Each child process imports torch for itself.", exc_info=True)
            return False
    return True


_server_starts = threading.Lock()


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Change environment variables for what is started meanwhile."""
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
    """A child's end of the link. It sends the log messages that wait before each message."""

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
        while not self._log.empty():
            record = self._log.get()
            super().send(Logged(self._name, record.levelno, record.getMessage()))


def _run(pipe: Connection, name: str, nice: int, target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    if hasattr(os, "nice"):
        os.nice(int(os.environ.get(_NICE_VARIABLE, nice)))
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
        except Exception as error:  # the boundary of the process: the parent learns of everything
            link.send(Failed(name, summary(error), traceback.format_exc(), lack(error), _portable(error)))
        finally:
            _kill_children()


def _kill_children() -> None:
    """Kill the children of this process: at exit, multiprocessing would ask them to stop and then hang."""
    for child in multiprocessing.active_children():
        child.kill()


atexit.register(_kill_children)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(0)


def _portable(error: Exception) -> Exception:
    """An exception that can be pickled, and raised in another process."""
    if isinstance(error, UserError):
        return UserError(str(error))
    if isinstance(error, NotFiniteError | MemoryError) or type(error) is RuntimeError:
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def serve(link: Link, server: Any) -> None:
    """Answer requests with the methods of `server`, and give it all other messages by its `send`.

    This continues until the link ends or a method raises.

    A method that is a generator answers with its result. Between two yields other requests are served, so
    that a child that works for seconds can say what its state is.
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
    link.send(Result(request.method, result))
