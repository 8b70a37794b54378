"""The jobs of a run in lockstep: in each cycle all take a turn at once, and what they tell is handed on after it.

So what is computed depends neither on which of them is done first nor on whether they have processes of their own,
which bring more cores to use, as Python's lock is each one's own.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import signal
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol, TypeVar

from core.errors import NotFiniteError, UserError
from core.events import (
    Event,
    Job,
    JobSpec,
    JobState,
    Logged,
    PolicyPublished,
    RolloutReported,
    Waited,
)
from core.jobs import build
from core.processes import Notes, decode, discard, encode

log = logging.getLogger(__name__)
_LEFT_SECONDS = 2.0
"""For a process to end by itself, once its pipe has."""
T = TypeVar("T", bound=Event)


class Port(Protocol):
    """A job, between two turns of which events can be sent, its state taken and nothing is under way."""

    def ready(self) -> None:
        """Waits until it can take turns; to be called once. Raises what the job has failed of."""
        ...

    def send(self, event: Event) -> None: ...

    def begin(self) -> None:
        """Lets it begin a turn: a piece of work, or none where it waits for something."""
        ...

    def end(self) -> list[Event]:
        """Ends the turn. Raises what the job has failed of."""
        ...

    def state(self) -> JobState: ...

    def close(self) -> None: ...


class LocalPort:
    """A job in this process; its turn is taken when it is ended."""

    def __init__(self, spec: JobSpec, threads: int) -> None:
        self.job = build(spec, threads)
        self._turns = self.job.run()

    def ready(self) -> None:
        pass

    def send(self, event: Event) -> None:
        self.job.receive(event)

    def begin(self) -> None:
        pass

    def end(self) -> list[Event]:
        return _turn(self._turns)

    def state(self) -> JobState:
        return self.job.get_state()

    def close(self) -> None:
        """The job goes with the last reference to it."""


def _turn(turns: Iterator[Event | None]) -> list[Event]:
    """What the job tells until it has done a piece of work, or waits."""
    told: list[Event] = []
    for event in turns:
        if isinstance(event, Waited):
            break
        if event is not None:
            told.append(event)
        if _ends_a_turn(event):
            break
    return told


def _ends_a_turn(event: Event | None) -> bool:
    """What is told last of a batch, or of an update of the policy: after it the job might go on with the next. The
    reward has nothing to go on with, as what it would fit to comes between turns."""
    if isinstance(event, RolloutReported):
        return event.batch_steps > 0  # a resumed one tells first what was reached before
    return isinstance(event, PolicyPublished)


@dataclass(frozen=True)
class _Begin(Event):
    spec: JobSpec


@dataclass(frozen=True)
class _Turn(Event):
    """Take these in, and then a turn."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class _StateAsked(Event):
    """Take these in, and say what the state is."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class _Told(Event):
    """What a turn brought, and what was logged in it."""

    events: list[Event]
    notes: list[Logged]


@dataclass(frozen=True)
class _State(Event):
    state: JobState


@dataclass(frozen=True)
class _Failed(Event):
    """The job can't go on. `trace` is for the log."""

    error: Exception
    trace: str


class ProcessPort:
    """A job in a process of its own, which goes with this one."""

    def __init__(self, spec: JobSpec, threads: int) -> None:
        self._name = spec.name
        self._waiting: list[Event] = []
        """For the job, with the next thing that it is asked for."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_child, args=(theirs, threads), name=f"job-{spec.name}", daemon=True)
        with _interrupts_kept_from_children():
            self._process.start()
        theirs.close()  # so that its death is the pipe's end
        self._ask(_Begin(spec))

    def ready(self) -> None:
        self._answer(_Told)

    def send(self, event: Event) -> None:
        self._waiting.append(event)

    def begin(self) -> None:
        self._ask(_Turn(self._taken()))

    def end(self) -> list[Event]:
        told = self._answer(_Told)
        for note in told.notes:
            logging.getLogger(f"core.jobs.{note.job}").log(note.level, "%s", note.text)
        return told.events

    def state(self) -> JobState:
        self._ask(_StateAsked(self._taken()))
        return self._answer(_State).state

    def _taken(self) -> tuple[Event, ...]:
        waiting, self._waiting = tuple(self._waiting), []
        return waiting

    def _ask(self, event: Event) -> None:
        """A process that is gone is noticed when it has no answer."""
        with contextlib.suppress(OSError):
            _post(self._pipe, event)

    def _answer(self, kind: type[T]) -> T:
        """Raises what the job failed of; ChildProcessError where it can't say so any more."""
        try:
            answer = decode(self._pipe.recv())
        except (EOFError, ConnectionError) as error:
            self._process.join(_LEFT_SECONDS)
            raise ChildProcessError(f"its process has ended with exit code {self._process.exitcode}") from error
        if isinstance(answer, _Failed):
            log.info("The process of the %s stage has failed.\n%s", self._name, answer.trace)
            raise answer.error
        assert isinstance(answer, kind)
        return answer

    def close(self) -> None:
        """It ends where its pipe does, or is killed in the midst of something longer. Safe to call twice."""
        self._pipe.close()
        self._process.join(_LEFT_SECONDS)
        self._process.kill()
        self._process.join()


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


def _child(pipe: Connection, threads: int) -> None:
    """Builds its job, and does what it is asked until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, ConnectionError):
        try:
            begin = decode(pipe.recv())
            assert isinstance(begin, _Begin)
            job = build(begin.spec, threads)
            _post(pipe, _Told([], []))
            _serve(pipe, begin.spec.name, job)
        except (EOFError, ConnectionError):
            raise
        except Exception as error:  # the boundary of the process: everything is reported
            _post(pipe, _Failed(_portable(error), traceback.format_exc()))


def _serve(pipe: Connection, name: str, job: Job) -> None:
    turns, notes = job.run(), Notes(name)
    while True:
        asked = decode(pipe.recv())
        assert isinstance(asked, _Turn | _StateAsked)
        for event in asked.events:
            job.receive(event)
        if isinstance(asked, _StateAsked):
            _post(pipe, _State(job.get_state()))
            continue
        told = _turn(turns)
        _post(pipe, _Told(told, list(notes.taken)))
        notes.taken.clear()


def _post(pipe: Connection, event: Event) -> None:
    envelope = encode(event)
    try:
        pipe.send(envelope)
    except BaseException:
        discard(envelope)
        raise


def _portable(error: Exception) -> Exception:
    """What can cross to another process and be raised there."""
    if isinstance(error, UserError):
        return UserError(str(error))
    if isinstance(error, NotFiniteError):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
