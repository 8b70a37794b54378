"""Single jobs driven by hand, and all jobs of a session taught without a window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import Any

from core.config import Config
from core.events import AnswersReplayed, Event, Job, JobSpec, PolicyPublished, PreferenceAdded, RewardPublished, Waited
from core.headless.lockstep import LocalPort
from core.headless.run import HeadlessRun
from core.jobs import build
from core.nn.state import state_arrays
from core.rollout.actor import build_policy
from core.session.session import Session
from tests.core.builders import preference, tiny


class Played:
    """A job and its events turn by turn. said: the events of the last turn, even if it raised"""

    def __init__(self, name: str, state: Any = None, **changes: Any) -> None:
        self.config = tiny(**changes)
        self.job = build(JobSpec(name, self.config.to_dict(), state))
        if name == "rollout":
            self.job.receive(AnswersReplayed())  # there are none, or the test replays them itself
        self.said: list[Event] = []
        self._events: Iterator[Event | None] = self.job.run()

    def turn(self, *received: Event) -> list[Event]:
        """Send these events; return the job's events until it waits, with the reason to wait last."""
        for event in received:
            self.job.receive(event)
        self.said = []
        for event in self._events:
            self.said += [event] if event is not None else []
            if isinstance(event, Waited):
                break
        return self.said


def answers(job: Job, *requests: Event) -> list[Event]:
    """Send these requests; return the job's events until it has nothing more to do."""
    for request in requests:
        job.receive(request)
    events = takewhile(lambda event: not isinstance(event, Waited), job.run())
    return [event for event in events if event is not None]


def of(kind: type[Event], events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def published(played: Played, version: int) -> PolicyPublished:
    return PolicyPublished(version, state_arrays(build_policy(played.config)))


def turn(port: LocalPort, *events: Event) -> list[RewardPublished]:
    """Send these events to a reward job; return the snapshots that it publishes in its next turn."""
    for event in events:
        port.send(event)
    port.start_turn()
    return of(RewardPublished, port.finish_turn())


def rewarded(rollout: Played) -> RewardPublished:
    """Return the snapshot of a reward fitted to a few answers."""
    reward = Played("reward", labels=4)
    answers = [PreferenceAdded(preference(number)) for number in range(2)]
    return of(RewardPublished, reward.turn(AnswersReplayed(), *answers))[0]


def trained_reward(**changes: Any) -> Played:
    reward = Played("reward", labels=4, **changes)
    reward.turn(AnswersReplayed(), *(PreferenceAdded(preference(number)) for number in range(5)))
    return reward


def taught(folder: Path, config: Config | None, cycles: int = 0) -> list[Event]:
    """Teach a new session in this process, or continue one, and return its events.

    config: that of the new session; None for one that exists
    cycles: those after which the session is saved and stops; 0 for all of them
    """
    session = Session.create(folder, config) if config else Session.open(folder)
    events: list[Event] = []
    with closing(session), closing(HeadlessRun(session, events.append, threads=1)) as run:
        for _ in range(cycles):
            run.cycle()
        run.save() if cycles else run.run()
    return events
