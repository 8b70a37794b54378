"""A job in a child process: start it, exchange events with it, stop it. No Qt here, and nothing heavy.

Small events go through a pipe. Arrays of any size leave the pickle (protocol 5) and cross in one shared memory block,
because pickling a pair of clips through a pipe takes 143-292 ms and stalls the window, and shared memory 8 ms.
The receiver copies the block (releasing the GIL) and unlinks it.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import multiprocessing
import os
import queue
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from core.errors import lack, summary
from core.events import Event, Failed, Job, JobSpec, JobState, Logged, Paused, StateRequested, StateSaved, Waited
from core.system.resources import release_memory
from core.system.shared_memory import _NO_ENVELOPE, Envelope, decode, discard, encode

_IDLE_SECONDS = 0.25
"""How long an idle job sleeps before it looks again, unless an event wakes it."""
_TIDY_SECONDS = 20.0
"""Between two times that a child gives back the memory it has freed."""
_LEFT_SECONDS = 1.0
"""What is left after a child was killed takes less; where it does not, the system itself hangs."""
_NOTES = 100
"""Log messages that may wait to be sent."""
_IN_TWO_LANES, _MANY_CORES = ("policy", "reward"), 6
"""Which jobs compute most, and of how many cores two are enough for each of them beside all else."""
_NICE = 10
"""The window keeps the processor when it needs it."""
_NICE_CLIPS = 3
"""A person waits for the clips, or plays, so these go before the training."""


class JobDiedError(Exception):
    """The child is gone. Carries its exit code: negative for a signal."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code


class _PipeEndedError(Exception):
    """Nobody is at the pipe's other end any more. Not an OSError, or a job's own would pass for it."""


class JobProcess:
    """One job in a spawned child. `send` may be called from any thread, `receive` from one."""

    def __init__(self, spec: JobSpec) -> None:
        self.name = spec.name
        context = multiprocessing.get_context("spawn")
        self._pipe, self._child_end = context.Pipe()
        light = replace(spec, state=None)
        self._process = context.Process(
            target=_child, args=(self._child_end, light), name=f"somersault-{spec.name}", daemon=True
        )
        self._state, self._begin = spec.state, _NO_ENVELOPE
        self._sending = threading.Lock()

    def start(self) -> None:
        """Raises JobDiedError where the child is gone at once.

        The job's state follows in a message: with it the spec could be more than a child that holds still lets its
        parent write, and until that is written nobody knows which process to kill.
        """
        self._process.start()
        self._child_end.close()  # so that the child's death is the pipe's end
        self._begin = encode(_Begin(self._state))
        self._state = None
        self._post(self._begin)

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def send(self, event: Event) -> None:
        """Raises JobDiedError when the child is gone."""
        self._post(encode(event))

    def _post(self, envelope: Envelope) -> None:
        try:
            with self._sending:
                self._pipe.send(envelope)
        except OSError as error:
            discard(envelope)  # nobody else will free its shared memory
            raise JobDiedError(self._process.exitcode) from error

    def receive(self, timeout: float) -> Event | None:
        """The next event, or None after `timeout` seconds; raises JobDiedError at the pipe's end.

        A child that holds still in the middle of an event holds this up for as long: `kill` ends that.
        """
        try:
            with _end_told_apart():
                if not self._pipe.poll(timeout):
                    return None
                envelope = self._pipe.recv()
        except _PipeEndedError as error:
            self._process.join(1)
            raise JobDiedError(self._process.exitcode) from error
        return decode(envelope)

    def stop(self, grace: float = 0.5) -> None:
        """Asks the child to end at its next boundary; after `grace` seconds ends it. Safe to call twice."""
        if self._process.pid is None:
            self._child_end.close()
        else:
            self._end(grace)
        if self._sending.acquire(timeout=_LEFT_SECONDS):  # not while another thread still writes
            self._pipe.close()
            self._sending.release()

    def _end(self, grace: float) -> None:
        """Asks in a thread of its own: a child that does not read, with a full pipe, holds up whoever writes."""
        ask = threading.Thread(target=self._ask_to_stop, daemon=True)
        ask.start()
        self._process.join(grace)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(_LEFT_SECONDS)
        ask.join(_LEFT_SECONDS)  # its end of the pipe went with the child
        if not self._process.is_alive():
            self._drain()
            with contextlib.suppress(FileNotFoundError):  # as a rule it was read
                discard(self._begin)

    def _ask_to_stop(self) -> None:
        with contextlib.suppress(JobDiedError):
            self.send(_Stop())

    def kill(self) -> None:
        """Ends the child at once, whatever it does. From any thread; `receive` then comes to the pipe's end."""
        if self._process.pid is not None:
            self._process.kill()

    def _drain(self) -> None:
        """Frees the shared memory of what the child sent and nobody took."""
        with contextlib.suppress(EOFError, OSError):
            while self._pipe.poll():
                discard(self._pipe.recv())


@dataclass(frozen=True)
class _Begin(Event):
    """Build the job, with this state. Events for the job may come before it: whoever has the pipe may send."""

    state: JobState | None


@dataclass(frozen=True)
class _Stop(Event):
    """Ends a child at its next boundary."""


@dataclass(frozen=True)
class _Unreadable(Event):
    """Something arrived that could not be taken in, for lack of memory say: the job must not wait for it for ever."""

    error: Exception


def _child(pipe: Connection, spec: JobSpec) -> None:
    """The child's main: lowers its priority, builds its job (heavy imports happen here) and runs it."""
    if hasattr(os, "nice"):
        os.nice(_NICE_CLIPS if spec.name in ("clips", "play") else _NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is the parent's: it stops its children in order
    multiprocessing.current_process().daemon = False  # which may have no children, and emulators can be that
    inbox: queue.SimpleQueue[Event] = queue.SimpleQueue()
    try:
        spec = replace(spec, state=_begun(pipe, inbox).state)
        threading.Thread(target=_listen, args=(pipe, inbox), daemon=True).start()
        # By name, since the window imports this module and must not reach the heavy ones.
        jobs = importlib.import_module("core.jobs")
        _work(jobs.build(spec, lanes(spec.name)), spec.name, pipe, inbox)
    except _PipeEndedError:
        return
    except Exception as error:  # the boundary of the process: everything is reported, nothing is lost
        with contextlib.suppress(_PipeEndedError):
            _tell(pipe, Failed(spec.name, summary(error), traceback.format_exc(), lack(error)))


def lanes(job: str) -> int:
    """How many threads of this job may compute at once, with a core left for each other child and for the window.

    What is computed does not depend on it (core.nn.threads).
    """
    return 2 if job in _IN_TWO_LANES and (os.cpu_count() or 1) >= _MANY_CORES else 1


def _begun(pipe: Connection, inbox: queue.SimpleQueue[Event]) -> _Begin:
    """What the job is to begin with; events that came before it go into the inbox."""
    while not isinstance(event := _next(pipe), _Begin):
        inbox.put(event)
    return event


def _next(pipe: Connection) -> Event:
    """Waits for it. _PipeEndedError where nobody will send one any more."""
    with _end_told_apart():
        envelope = pipe.recv()
    return decode(envelope)


def _tell(pipe: Connection, event: Event) -> None:
    envelope = encode(event)
    try:
        with _end_told_apart():
            pipe.send(envelope)
    except BaseException:
        discard(envelope)
        raise


def _listen(pipe: Connection, inbox: queue.SimpleQueue[Event]) -> None:
    """Fills the inbox; when the parent dies the pipe ends and so does this process, at once."""
    while True:
        try:
            inbox.put(_next(pipe))
        except _PipeEndedError:
            os._exit(0)
        except Exception as error:
            inbox.put(_Unreadable(error))
            return


@contextlib.contextmanager
def _end_told_apart() -> Iterator[None]:
    """Whatever else goes wrong, for lack of memory say, is no sign that nobody is at the other end any more."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise _PipeEndedError from error
    except OSError as error:
        if error.errno is None:  # it ended in the middle of a message, or was closed here
            raise _PipeEndedError from error
        raise


class Notes(logging.Handler):
    """What is logged in a child, to be sent to the parent at the next boundary: it alone writes the session's log."""

    def __init__(self, job: str) -> None:
        super().__init__(logging.WARNING)
        self._job = job
        self.taken: deque[Logged] = deque(maxlen=_NOTES)
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.taken.append(Logged(self._job, record.levelno, self.format(record)))


def _work(job: Job, name: str, pipe: Connection, inbox: queue.SimpleQueue[Event]) -> None:
    notes = Notes(name)
    tidy_at = time.monotonic() + _TIDY_SECONDS
    for event in job.run():
        if time.monotonic() > tidy_at:
            release_memory()
            tidy_at = time.monotonic() + _TIDY_SECONDS
        while notes.taken:
            _tell(pipe, notes.taken.popleft())
        if event is not None:
            _tell(pipe, event)
        if not _serve(job, name, pipe, inbox, idle=isinstance(event, Waited)):
            return


def _serve(job: Job, name: str, pipe: Connection, inbox: queue.SimpleQueue[Event], idle: bool) -> bool:
    """Hands waiting events to the job, holding still while paused. False: it was told to stop."""
    paused = False
    deadline = time.monotonic() + (_IDLE_SECONDS if idle else 0)
    while True:
        try:
            wait = None if paused else max(0.0, deadline - time.monotonic())
            event = inbox.get(timeout=wait) if wait is None or wait > 0 else inbox.get_nowait()
        except queue.Empty:
            return True
        match event:
            case _Stop():
                return False
            case _Unreadable(error):
                raise error
            case Paused(on):
                paused = on
            case StateRequested(number):
                _tell(pipe, StateSaved(name, number, job.get_state()))
            case _:
                job.receive(event)
        deadline = 0.0
