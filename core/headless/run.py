"""A whole run without a window: the jobs take turns, reproducibly (same seed, same result)."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from core.config import Config
from core.envs.spaces import sizes
from core.errors import NotFiniteError, StageFailedError, UserError, summary
from core.events import (
    AnswersReplayed,
    Event,
    JobSpec,
    JobState,
    PolicyPublished,
    PolicyUpdated,
    PreferenceAdded,
    QueryOffered,
    RolloutBatchReady,
    RolloutReported,
)
from core.headless.lockstep import LocalPort, ProcessPort, TurnPort
from core.preferences import oracle
from core.preferences.store import PreferenceStore
from core.session.compatibility import require_fitting
from core.session.policy_snapshots import SnapshotInfo
from core.session.routing import DRIVER, JOBS, SNAPSHOTS, deliver
from core.session.session import Session
from core.system.child_process import job_threads
from core.system.interrupts import Interrupts
from core.system.resources import free_memory
from core.tasks import get_task
from core.tasks.atari import AtariTask
from core.tasks.base import RobotTask

log = logging.getLogger(__name__)
Listener = Callable[[Event], None]
_SECONDS_BETWEEN_CHECKPOINTS = 60.0
_BATCH_APART, _STEPS_APART = 4096, 300_000
"""Environment steps of a batch, and of a session, from which on the jobs have processes of their own."""
_GAME_STEPS_APART = 20_000
"""Environment steps of a session of a game from which on its collectors have processes of their own."""
_MEMORY_APART = 1_800_000_000
"""Bytes that must be free for that. They take 1,200 MB with the run's own process."""


@dataclass(frozen=True)
class Outcome:
    """What a run reached. true_return and measure are means over the last finished episodes."""

    env_steps: int
    steps_taken: int
    """In this process; fewer than env_steps after a resume."""
    labels: int
    seconds: float
    true_return: float
    measure: dict[str, float]
    divergences: int
    """How often in the session a simulation failed and was started anew."""


class HeadlessRun:
    """Drives the three jobs of a session to its end.

    What they compute is the same with or without processes of their own, and with any number of threads.
    """

    def __init__(self, session: Session, listener: Listener, threads: int = 0, apart: bool | None = None) -> None:
        """threads: that may compute at once in one process; 0 for one a core. apart: whether the jobs have processes of
        their own; None for where that is faster."""
        self._session = session
        self._listener = listener
        self._store: PreferenceStore = session.store()
        loaded = session.load()
        self._checkpoint, states = loaded if loaded else (0, {})
        require_fitting(self._store, session.config, sizes(session.config))
        self._under_way = 0
        """Batches that the policy has not learned from."""
        self._report: RolloutReported | None = None
        self._policy: PolicyPublished | None = None
        self._snapshots = session.snapshots()
        self._snapshot_due = 0
        self._began = time.monotonic() - self._snapshots.seconds()
        self._steps_taken = 0
        self._stage = JOBS[0]
        self._ports: Mapping[str, TurnPort] = {}
        try:
            with self._failures_told():
                self._ports = _ports(session.config, states, threads or os.cpu_count() or 1, apart)
                for name in self._ports:
                    self._wait_for(name)
                self._begin()
        except BaseException:
            self.close()
            raise

    def _wait_for(self, name: str) -> None:
        self._stage = name
        self._ports[name].wait_until_ready()

    def _begin(self) -> None:
        for preference in self._store.each():
            deliver(PreferenceAdded(preference), self._ports)
        deliver(AnswersReplayed(), self._ports)
        self._ports["policy"].start_turn()  # it publishes at once, so that a resumed rollout acts as it did before
        self._hand_on("policy", self._ended("policy"))
        self._under_way = self._policy.waiting if self._policy else 0

    def run(self) -> Outcome:
        """Goes on until all steps are taken; a checkpoint now and then, and at the end.

        Ctrl+C is taken between two cycles: KeyboardInterrupt, after a checkpoint. UserError, NotFiniteError or
        StageFailedError where a stage can't go on, and CutShortError: the checkpoint before is the one that remains.
        """
        started = saved_at = time.monotonic()
        with Interrupts() as interrupts, self._failures_told():
            while not (self._finished() or interrupts.asked):
                self.cycle()
                if time.monotonic() - saved_at > _SECONDS_BETWEEN_CHECKPOINTS:
                    self.save()
                    saved_at = time.monotonic()
            if self._policy and self._finished():
                self._keep_policy(self._policy, always=True)
            self.save()
        if interrupts.asked:
            raise KeyboardInterrupt
        return self._outcome(time.monotonic() - started)

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        """The jobs' states can't be trusted after a failure: nothing is saved, and the last checkpoint is the one."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            # Not as an error: the terminal, which shows those, is told one sentence.
            log.info("The %s stage failed.", self._stage, exc_info=True)
            if isinstance(error, NotFiniteError):
                raise
            kept = f"checkpoint {self._checkpoint} and every answer are" if self._checkpoint else "every answer is"
            raise StageFailedError(
                f"the {self._stage} stage failed ({summary(error).rstrip('.')}); {kept} on disk, and the session's log "
                "says more"
            ) from error

    def cycle(self) -> None:
        """Every job takes a turn. Between two cycles nothing is lost by saving, but of pictures a batch that waits.

        Where rollouts may run ahead of the policy (config.policy.lag), all take it at once. Else the rollout's comes
        first, and reward and policy take theirs at once.
        """
        ahead = self._session.config.policy.lag > 0
        for jobs in (JOBS,) if ahead else (("rollout",), ("reward", "policy")):
            for name in jobs:
                self._ports[name].start_turn()
            told = {name: self._ended(name) for name in jobs}
            for name, events in told.items():
                self._hand_on(name, events)

    def _ended(self, name: str) -> list[Event]:
        self._stage = name
        return self._ports[name].finish_turn()

    def save(self) -> None:
        number = self._checkpoint + 1
        log.info("checkpoint %d, %d answers", number, self._store.count())
        self._session.save(number, {name: port.state() for name, port in self._ports.items()})
        self._checkpoint = number

    def close(self) -> None:
        for port in self._ports.values():
            port.close()
        self._store.close()

    def _finished(self) -> bool:
        """All steps are taken, and the policy has learned from the last of them."""
        taken = self._report is not None and self._report.env_steps >= self._session.config.steps
        return taken and not self._under_way

    def _hand_on(self, name: str, events: list[Event]) -> None:
        self._stage = name
        for event in events:
            self._handle(event)

    def _handle(self, event: Event) -> None:
        self._listener(event)
        self._under_way += isinstance(event, RolloutBatchReady) - isinstance(event, PolicyUpdated)
        deliver(event, {**self._ports, DRIVER: self, SNAPSHOTS: self})

    def send(self, event: Event) -> None:
        """Receive an event as the session's driver, and as the keeper of its snapshots (core.session.routing)."""
        match event:
            case RolloutReported(batch_steps=steps):
                self._report = event
                self._steps_taken += steps
            case QueryOffered(query):
                answer = oracle.answer(query, self._session.config)
                self._handle(PreferenceAdded(self._store.add(query, answer.choice, "oracle", answer.returns)))
            case PolicyPublished():
                self._policy = event
                self._keep_policy(event)

    def _keep_policy(self, event: PolicyPublished, always: bool = False) -> None:
        """A policy of the past is worth a line in the log, and no run is to end for want of it."""
        if event.env_steps is None or event.env_steps < self._snapshot_due and not always:
            return
        figures = self._report.measure if self._report else {}
        measure = figures.get(get_task(self._session.config.task).measure_name, float("nan"))
        moment = SnapshotInfo(event.env_steps, self._store.count(), time.monotonic() - self._began, measure)
        try:
            self._snapshots.add(moment, event.weights, always)
        except UserError as error:
            log.warning("%s", error)
        self._snapshot_due = self._snapshots.next_due()

    def _outcome(self, seconds: float) -> Outcome:
        report = self._report
        assert report is not None
        counts = report.env_steps, self._steps_taken, self._store.count()
        return Outcome(*counts, seconds, report.true_return, report.measure, report.divergences)


def _ports(config: Config, states: Mapping[str, JobState], threads: int, apart: bool | None) -> dict[str, TurnPort]:
    collectors_apart = bool(apart)
    if apart is None:
        free = free_memory()
        roomy = threads > 1 and (free is None or free > _MEMORY_APART)
        apart = roomy and _long(config)
        collectors_apart = apart or roomy and config.steps >= _GAME_STEPS_APART and _is_game(config)
    own = {name: min(threads, job_threads(name)) for name in JOBS} if apart else dict.fromkeys(JOBS, threads)
    kind = ProcessPort if apart else LocalPort
    ports: dict[str, TurnPort] = {}
    with ExitStack() as made:
        for name in JOBS:
            ports[name] = kind(JobSpec(name, config.to_dict(), states.get(name)), own[name], collectors_apart)
            made.callback(ports[name].close)
        made.pop_all()
    return ports


def _is_game(config: Config) -> bool:
    return isinstance(get_task(config.task), AtariTask)


def _long(config: Config) -> bool:
    """Whether processes for the jobs are worth their start: of robots, whose batches are small enough to be passed
    around."""
    batch = config.rollout.environments * config.rollout.steps
    return isinstance(get_task(config.task), RobotTask) and batch >= _BATCH_APART and config.steps >= _STEPS_APART
