"""The jobs of a headless run in lockstep: all take a turn at the same time, and their events are delivered afterwards.

So results depend neither on which job finishes first nor on whether the jobs have processes of their own, in which each
has a GIL of its own and more cores are used.
"""

import contextlib
from collections.abc import Iterator

from core.errors import ChildDiedError
from core.events import Event, Job, JobSpec, JobState, PolicyPublished, RewardPublished, RolloutReported, Waited
from core.jobs import build
from core.system.child_process import ChildProcess, serve
from core.system.link import Link


class LocalPort:
    """A job in this process that takes turns. Between turns, events can be sent to it and its state can be read."""

    def __init__(self, spec: JobSpec, threads: int, processes: bool = False) -> None:
        self.job = build(spec, threads, processes)
        self._run = self.job.run()

    def wait_until_ready(self) -> None:
        """Wait until the job can take turns; call it once. Raises any exception from building the job."""

    def send(self, event: Event) -> None:
        self.job.receive(event)

    def start_turn(self) -> None:
        """Start a turn, if the job has a process of its own: one piece of work, or none if it has to wait."""

    def finish_turn(self) -> list[Event]:
        """Wait for the end of the turn and return the events that the job yielded. Raises any exception of the job."""
        return _take_turn(self.job, self._run)

    def state(self) -> JobState:
        return self.job.get_state()

    def close(self) -> None:
        self.job.close()


def _take_turn(job: Job, run: Iterator[Event | None]) -> list[Event]:
    """Run the job until it has done a piece of work or waits, and return the events it yielded.

    A piece of work is a batch, an update of the policy, or a part of a round of fitting, which ends at Job.turn_over.
    """
    events: list[Event] = []
    for event in run:
        if isinstance(event, Waited):
            break
        if event is not None:
            events.append(event)
        if isinstance(event, RolloutReported):
            over = event.batch_steps > 0  # a resumed job first reports its figures from before
        elif event is None:
            over = job.turn_over
        else:
            over = isinstance(event, PolicyPublished | RewardPublished)
        if over:
            break
    return events


class ProcessPort:
    """A LocalPort in a child process, which ends when this process ends."""

    def __init__(self, spec: JobSpec, threads: int, processes: bool = False) -> None:
        self._process = ChildProcess(spec.name, _serve_job, threads, processes, torch=True)
        self._process.start()
        self._spec = spec

    def wait_until_ready(self) -> None:
        self.send(self._spec)
        self._process.request("wait_until_ready")
        self._process.answer("wait_until_ready")

    def send(self, message: Event | JobSpec) -> None:
        with contextlib.suppress(ChildDiedError):  # reported by finish_turn
            self._process.send(message)

    def start_turn(self) -> None:
        self._process.request("finish_turn")

    def finish_turn(self) -> list[Event]:
        events: list[Event] = self._process.answer("finish_turn")
        return events

    def state(self) -> JobState:
        self._process.request("state")
        state: JobState = self._process.answer("state")
        return state

    def close(self) -> None:
        """Kill the process; it holds nothing that must be saved. Safe to call twice."""
        self._process.close()


TurnPort = LocalPort | ProcessPort


def _serve_job(link: Link, threads: int, processes: bool) -> None:
    serve(link, LocalPort(link.receive(), threads, processes))
