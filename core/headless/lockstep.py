"""The jobs of a run in lockstep: in each cycle all take a turn at once, and what they tell is handed on after it.

So what is computed depends neither on which of them is done first nor on whether they have processes of their own,
which bring more cores to use, as Python's lock is each one's own.
"""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

from core.config import Config
from core.events import (
    Event,
    Job,
    JobSpec,
    JobState,
    Logged,
    PolicyPublished,
    RewardPublished,
    RolloutReported,
    Waited,
)
from core.jobs import build
from core.jobs.collector_process import Helper, worth_a_helper
from core.system.child_link import Link, belong_to_parent, portable, spawned
from core.system.child_process import Notes

log = logging.getLogger(__name__)
_LEFT_SECONDS = 2.0
"""For a process to end by itself, once its pipe has."""


class TurnPort(Protocol):
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
        return _turn(self.job, self._turns)

    def state(self) -> JobState:
        return self.job.get_state()

    def close(self) -> None:
        """The job goes with the last reference to it."""


def _turn(job: Job, turns: Iterator[Event | None]) -> list[Event]:
    """What the job tells until it has done a piece of work, or waits."""
    told: list[Event] = []
    for event in turns:
        if isinstance(event, Waited):
            break
        if event is not None:
            told.append(event)
        if _ends_a_turn(event, job):
            break
    return told


def _ends_a_turn(event: Event | None, job: Job) -> bool:
    """What is told last of a batch, of an update of the policy or of a round of the reward: after it the job might go
    on with the next. Amid a round the reward says itself when it has done enough."""
    if isinstance(event, RolloutReported):
        return event.batch_steps > 0  # a resumed one tells first what was reached before
    return isinstance(event, PolicyPublished | RewardPublished) or event is None and _is_over(job)


@runtime_checkable
class _InTurns(Protocol):
    """A job that says when it has done enough of a longer piece of work."""

    turn_over: bool


def _is_over(job: Job) -> bool:
    return isinstance(job, _InTurns) and job.turn_over


@dataclass(frozen=True)
class _Begin:
    """Build this job."""

    spec: JobSpec


@dataclass(frozen=True)
class _Turn:
    """Take these in, and then a turn."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class _StateAsked:
    """Take these in, and say what the state is."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class _Told:
    """What a turn brought. notes: what was logged meanwhile, as in the others."""

    events: list[Event]
    notes: tuple[Logged, ...] = ()


@dataclass(frozen=True)
class _State:
    state: JobState
    notes: tuple[Logged, ...] = ()


@dataclass(frozen=True)
class _Failed:
    """The job can't go on. `trace` is for the log."""

    error: Exception
    trace: str
    notes: tuple[Logged, ...] = ()


_Asked = _Begin | _Turn | _StateAsked
_Answer = _Told | _State | _Failed
T = TypeVar("T", _Told, _State)


class ProcessPort:
    """A job in a process of its own, which goes with this one.

    What is asked and answered goes through the link by turns: neither side ever writes while the other does, or reads.
    """

    def __init__(self, spec: JobSpec, threads: int) -> None:
        self._name, self._spec = spec.name, spec
        self._waiting: list[Event] = []
        """For the job, with the next thing that it is asked for."""
        helped = spec.name == "rollout" and worth_a_helper(Config.from_dict(spec.config))
        self._helper = Helper() if helped else None
        link = self._helper.link if self._helper else None
        try:
            self._process, self._link = spawned(f"job-{spec.name}", _child, threads, link)
        except BaseException:
            self._end_helper()
            raise
        if link:
            link.pipe.close()  # it is the child's now, and its end is to be the helper's

    def ready(self) -> None:
        """Not sooner: what the pipe doesn't hold of the state waits for the process, and all set out at once."""
        self._ask(_Begin(self._spec))
        self._answer(_Told)

    def send(self, event: Event) -> None:
        self._waiting.append(event)

    def begin(self) -> None:
        self._ask(_Turn(self._taken()))

    def end(self) -> list[Event]:
        return self._answer(_Told).events

    def state(self) -> JobState:
        self._ask(_StateAsked(self._taken()))
        return self._answer(_State).state

    def _taken(self) -> tuple[Event, ...]:
        waiting, self._waiting = tuple(self._waiting), []
        return waiting

    def _ask(self, asked: _Asked) -> None:
        """A process that is gone is noticed when it has no answer."""
        with contextlib.suppress(ConnectionError):
            self._link.tell(asked)

    def _answer(self, kind: type[T]) -> T:
        """Raises what the job failed of; ChildProcessError where it can't say so any more."""
        try:
            answer = self._link.hear()
        except (EOFError, OSError) as error:
            self._process.join(_LEFT_SECONDS)
            raise ChildProcessError(f"its process has ended with exit code {self._process.exitcode}") from error
        for note in answer.notes:
            logging.getLogger(f"core.jobs.{note.job}").log(note.level, "%s", note.text)
        if isinstance(answer, _Failed):
            log.info("The process of the %s stage has failed.\n%s", self._name, answer.trace)
            raise answer.error
        assert isinstance(answer, kind)
        return answer

    def close(self) -> None:
        """It has nothing that would be lost. Safe to call twice."""
        self._process.kill()
        self._process.join()
        self._link.pipe.close()
        self._end_helper()

    def _end_helper(self) -> None:
        if self._helper:
            self._helper.close()


def _child(link: Link, threads: int, helper: Link | None) -> None:
    """Builds its job, and does what it is asked until it fails or nobody asks any more."""
    belong_to_parent()
    with contextlib.suppress(EOFError, OSError):  # of the pipe: what the job raises is an answer
        begin = link.hear()
        notes = Notes(begin.spec.name)
        worker = _Worker(begin.spec, threads, helper)
        asked = begin
        while not isinstance(answer := _answered(worker, asked), _Failed):
            link.tell(replace(answer, notes=_emptied(notes)))
            asked = link.hear()
        link.tell(replace(answer, notes=_emptied(notes)))


class _Worker:
    """The job, built when it is first asked for something."""

    def __init__(self, spec: JobSpec, threads: int, helper: Link | None) -> None:
        self._told = spec, threads, helper

    def answer(self, asked: _Asked) -> _Answer:
        if isinstance(asked, _Begin):
            self._job = build(*self._told)
            self._turns = self._job.run()
            return _Told([])
        for event in asked.events:
            self._job.receive(event)
        return _State(self._job.get_state()) if isinstance(asked, _StateAsked) else _Told(_turn(self._job, self._turns))


def _answered(worker: _Worker, asked: _Asked) -> _Answer:
    try:
        return worker.answer(asked)
    except Exception as error:  # the boundary of the process: everything is reported
        return _Failed(portable(error), traceback.format_exc())


def _emptied(notes: Notes) -> tuple[Logged, ...]:
    taken = tuple(notes.taken)
    notes.taken.clear()
    return taken
