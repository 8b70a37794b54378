"""The jobs of a headless run in lockstep: all take a turn at once, and what they yield is delivered afterwards.

So results depend neither on which job finishes first nor on whether the jobs have processes of their own, in which each
has Python's lock to itself and more cores are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from core.events import Event, Job, JobSpec, JobState, PolicyPublished, RewardPublished, RolloutReported, Waited
from core.jobs import build
from core.system.child_link import Link
from core.system.child_process import ChildProcess, serve


class TurnPort(Protocol):
    """A job that takes turns. Between two turns it can be sent events, and its state can be read."""

    def wait_until_ready(self) -> None:
        """Wait until the job can take turns. To be called once; raises what building the job raised."""
        ...

    def send(self, event: Event) -> None: ...

    def start_turn(self) -> None:
        """Let the job begin a turn: one piece of work, or none if it waits for something."""
        ...

    def finish_turn(self) -> list[Event]:
        """Wait for the end of the turn and return the events it yielded. Raises what the job raised."""
        ...

    def state(self) -> JobState: ...

    def close(self) -> None: ...


class LocalPort:
    """A job in this process, which takes its turn in `finish_turn`."""

    def __init__(self, spec: JobSpec, threads: int, processes: bool = False) -> None:
        """threads, processes: as for core.jobs.build"""
        self.job = build(spec, threads, processes)
        self._run = self.job.run()

    def wait_until_ready(self) -> None:
        pass

    def send(self, event: Event) -> None:
        self.job.receive(event)

    def start_turn(self) -> None:
        pass

    def finish_turn(self) -> list[Event]:
        return _take_turn(self.job, self._run)

    def state(self) -> JobState:
        return self.job.get_state()

    def close(self) -> None:
        if isinstance(self.job, _Closable):
            self.job.close()


@runtime_checkable
class _Closable(Protocol):
    """A job that holds processes or simulators."""

    def close(self) -> None: ...


@runtime_checkable
class _InTurns(Protocol):
    """A job that states itself when it has done enough of a longer piece of work."""

    turn_over: bool


def _take_turn(job: Job, run: Iterator[Event | None]) -> list[Event]:
    """Run the job until it has done a piece of work or waits, and return the events it yielded.

    A piece of work is a batch, an update of the policy, or as much of a round of the reward as the job says.
    """
    events: list[Event] = []
    for event in run:
        if isinstance(event, Waited):
            break
        if event is not None:
            events.append(event)
        if isinstance(event, RolloutReported):
            over = event.batch_steps > 0  # a resumed job first reports what it had reached before
        elif event is None:
            over = isinstance(job, _InTurns) and job.turn_over
        else:
            over = isinstance(event, PolicyPublished | RewardPublished)
        if over:
            break
    return events


class ProcessPort:
    """A job in a child process, which ends with this one."""

    def __init__(self, spec: JobSpec, threads: int, processes: bool = True) -> None:
        self._process = ChildProcess(spec.name, _serve_job, threads, processes)
        self._process.start()
        self._spec = spec
        self._events: list[Event] = []
        """Sent with the next request."""

    def wait_until_ready(self) -> None:
        self._process.request("build", self._spec)
        self._process.answer("build")

    def send(self, event: Event) -> None:
        self._events.append(event)

    def start_turn(self) -> None:
        self._process.request("take_turn", self._take_events())

    def finish_turn(self) -> list[Event]:
        events: list[Event] = self._process.answer("take_turn")
        return events

    def state(self) -> JobState:
        self._process.request("state", self._take_events())
        state: JobState = self._process.answer("state")
        return state

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        """Kill the process, which holds nothing that would be lost. Safe to call twice."""
        self._process.close()


def _serve_job(link: Link, threads: int, processes: bool) -> None:
    serve(link, _JobServer(threads, processes))


class _JobServer:
    """Answers a ProcessPort."""

    def __init__(self, threads: int, processes: bool) -> None:
        self._arguments = threads, processes

    def build(self, spec: JobSpec) -> None:
        self._port = LocalPort(spec, *self._arguments)

    def take_turn(self, events: list[Event]) -> list[Event]:
        self._deliver(events)
        return self._port.finish_turn()

    def state(self, events: list[Event]) -> JobState:
        self._deliver(events)
        return self._port.state()

    def _deliver(self, events: list[Event]) -> None:
        for event in events:
            self._port.send(event)
