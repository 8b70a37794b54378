"""The whole training loop without a window: rollout, queries, answers, reward fit and policy update.

The jobs take turns, so the same seed gives the same result, however often the run is stopped or killed and resumed. A
checkpoint is taken between two cycles and records the newest answer that the jobs have received. A resumed run repeats the
work after the checkpoint, asks the same pairs again, and takes their answers from the store.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields

from core.config import Config
from core.envs.spaces import spaces
from core.errors import NotFiniteError, StageFailedError, UserError, checkpoint_errors, summary
from core.events import (
    AnswersReplayed,
    Event,
    JobSpec,
    JobState,
    PolicyPublished,
    PreferenceAdded,
    QueryOffered,
    QueryWithdrawn,
    RolloutBatchReady,
    RolloutReported,
)
from core.headless.answers import Answers
from core.headless.lockstep import LocalPort, ProcessPort, TurnPort
from core.jobs.job_process import job_threads
from core.preferences.store import PreferenceStore
from core.session.checkpoint_schedule import INTERVAL, CheckpointSchedule
from core.session.compatibility import require_fitting
from core.session.policy_snapshots import SnapshotInfo
from core.session.routing import DRIVER, JOBS, SNAPSHOTS, deliver
from core.session.session import Session
from core.session.summary import Summary, better, renew
from core.system.interrupts import Interrupts
from core.system.resources import available_cores, free_memory
from core.tasks import get_task
from core.tasks.atari import AtariTask
from core.tasks.base import RobotTask
from core.types import Query, require_count

log = logging.getLogger(__name__)
Listener = Callable[[Event], None]
_PROCESSES_MIN_BATCH, _PROCESSES_MIN_STEPS = 4096, 300_000
"""Fewest environment steps of a batch, and of a session, for which a process per job is faster."""
_COLLECTORS_MIN_STEPS = 20_000
"""Fewest environment steps of a session of a game for which a process per collector is faster."""
_PROCESSES_MEMORY = 1_800_000_000
"""Free memory in bytes that the processes require; they take 1,200 MB, this one included."""


@dataclass(frozen=True)
class Outcome:
    """Results of a run. true_return and measure are means over the latest finished episodes."""

    env_steps: int
    steps_taken: int
    """Environment steps taken by this process; fewer than env_steps after a resume."""
    labels: int
    usable: int
    """Labels without "can't tell"."""
    seconds: float
    true_return: float
    measure: dict[str, float]
    divergences: int
    """Simulations in the session that diverged and were reset."""


class HeadlessRun:
    """Trains one session to its end; the oracle or the simulated person answers its queries.

    The results depend neither on the number of threads nor on whether the jobs have processes of their own.
    """

    def __init__(
        self,
        session: Session,
        listener: Listener,
        threads: int = 0,
        apart: bool | None = None,
        checkpoint_seconds: float = INTERVAL,
    ) -> None:
        """Build the jobs, from the newest checkpoint if there is one, with the answers that they had received by then.

        listener: called with every event of the jobs
        threads: number of threads that may compute at the same time; 0 for one per core
        apart: True if each job has a process of its own; None to choose the faster way
        checkpoint_seconds: longest time in seconds between two checkpoints
        """
        self._session, self._config = session, session.config
        self._task = get_task(session.config.task)
        self._best: float | None = None
        """Best measure of this run."""
        self._listener = listener
        self._checkpoints = CheckpointSchedule(checkpoint_seconds)
        self._checkpoint, states = session.resume()
        self._batches_waiting = 0
        """Number of batches on which the policy has not been updated yet."""
        self._policy: PolicyPublished | None = None
        self._offers_outdated = False
        """True if the stored answers were found in this cycle to belong to other pairs, and were all delivered at once."""
        self._steps_taken = 0
        self._snapshots = session.snapshots()
        self._snapshot_due = 0
        self._started = time.monotonic() - self._snapshots.seconds()
        self._stage = JOBS[0]
        """The job whose turn it is, for error messages."""
        self._ports: Mapping[str, TurnPort] = {}
        newest, self._report = _own_state(states)
        self._store: PreferenceStore = session.store()
        try:
            space = spaces(self._config)
            require_fitting(self._store, self._config, (space.observations, space.actions))
            self._answers = Answers(self._store, self._config, newest)
            with self._stage_errors():
                self._ports = _make_ports(self._config, states, threads or available_cores(), apart)
                for name, port in self._ports.items():
                    self._stage = name
                    port.wait_until_ready()
                for preference in self._answers.known_to_jobs():
                    deliver(PreferenceAdded(preference), self._ports)
                deliver(AnswersReplayed(), self._ports)
                self._take_turns("policy")  # publishes its policy, so that a resumed rollout acts as it did before
                self._batches_waiting = self._policy.waiting if self._policy else 0
        except BaseException:
            self.close()
            raise

    def run(self) -> Outcome:
        """Train until all steps are taken, saving checkpoints regularly and at the end.

        SIGINT (Ctrl+C), SIGTERM and SIGHUP take effect between two cycles: a checkpoint is saved, and KeyboardInterrupt
        is raised with the signal's number. A second signal raises CutShortError at once. Raises UserError, NotFiniteError
        or StageFailedError if a job fails. After a second signal or a failure nothing more is saved, and the last checkpoint remains.
        """
        started = time.monotonic()
        with Interrupts() as interrupts, self._stage_errors():
            while not (self._finished() or interrupts.asked):
                self.cycle()
                if self._checkpoints.due or self._offers_outdated:
                    self.save()
            if self._finished():
                self._save_snapshot(always=True)
            self.save()
        if interrupts.asked:
            raise KeyboardInterrupt(interrupts.asked)
        report = self._report
        assert report is not None
        choices = [row.choice for row in self._store.labels()]
        usable = sum(choice.usable for choice in choices)
        counts = report.env_steps, self._steps_taken, len(choices), usable
        seconds = time.monotonic() - started
        return Outcome(*counts, seconds, report.true_return, report.measure, report.divergences)

    def cycle(self) -> None:
        """Give every job one turn. A checkpoint between two cycles is complete, except for a waiting batch of pictures."""
        self._offers_outdated = False
        if self._config.policy.lag > 0:  # the rollout may run ahead of the policy
            self._take_turns("rollout", "reward", "policy")
        else:
            self._take_turns("rollout")  # offer queries and collect a batch
            self._take_turns("reward", "policy")  # fit the reward to the answers; update the policy on the batch

    def _take_turns(self, *jobs: str) -> None:
        """Run one turn of these jobs at the same time, then handle their events in the order of the jobs."""
        for name in jobs:
            self._ports[name].start_turn()
        events: dict[str, list[Event]] = {}
        for name in jobs:
            self._stage = name
            events[name] = self._ports[name].finish_turn()
        for name in jobs:
            self._stage = name
            for event in events[name]:
                self._handle(event)

    def _handle(self, event: Event) -> None:
        self._listener(event)
        self._checkpoints.note(event)
        self._batches_waiting += isinstance(event, RolloutBatchReady) - isinstance(event, PolicyPublished)
        deliver(event, {**self._ports, DRIVER: self, SNAPSHOTS: self})

    def send(self, event: Event) -> None:
        """Receive an event for the run itself: answer queries, keep the newest report, and save snapshots of the policy."""
        match event:
            case QueryOffered(query):
                self._answer(query)
            case RolloutReported():
                self._report = event
                self._steps_taken += event.batch_steps
                self._best = better(self._measure(), self._best)
            case PolicyPublished():
                self._policy = event
                self._save_snapshot()

    def _answer(self, query: Query) -> None:
        """Answer a query; if the stored answers are not to this run's queries, deliver them all at once instead.

        A session made from old answers starts this way. The queries of this turn, chosen without them, are withdrawn.
        """
        preference = None if self._offers_outdated else self._answers.answer(query)
        if preference is not None:
            self._handle(PreferenceAdded(preference))
            return
        self._offers_outdated = True
        for preference in self._answers.rest():
            self._handle(PreferenceAdded(preference))
        self._ports["rollout"].send(QueryWithdrawn(query.id))

    def save(self) -> None:
        """Save a checkpoint. Call it only between two cycles."""
        number = self._checkpoint + 1
        log.info("checkpoint %d, %d answers", number, self._answers.count)
        report = self._report and asdict(self._report)
        own = JobState({}, {"answers": self._answers.newest, "report": report})
        self._session.save(number, {**{name: port.state() for name, port in self._ports.items()}, DRIVER: own})
        self._checkpoint = number
        self._checkpoints.saved()
        self._save_summary()

    def close(self) -> None:
        for port in self._ports.values():
            port.close()
        self._store.close()

    def _finished(self) -> bool:
        """Return whether all steps are taken and the policy has been updated on the last of them."""
        taken = self._report is not None and self._report.env_steps >= self._config.steps
        return taken and not self._batches_waiting

    def _save_snapshot(self, always: bool = False) -> None:
        """Save the newest policy if a snapshot is due, or `always`; a failure is only logged."""
        policy = self._policy
        if policy is None or policy.env_steps < self._snapshot_due and not always:
            return
        seconds = time.monotonic() - self._started
        info = SnapshotInfo(policy.env_steps, self._answers.count, seconds, self._measure())
        try:
            self._session.require_folder()
            self._snapshots.add(info, policy.weights, always)
        except UserError as error:
            log.warning("%s", error)
        self._snapshot_due = self._snapshots.next_due()

    def _save_summary(self) -> None:
        """Write the session's summary for the start page of the window; a failure is only logged."""
        config, steps = self._config, self._report.env_steps if self._report else 0
        labels, title = self._store.count(), self._task.measure_title
        current = Summary(config.task, config.teacher, labels, steps, title, self._best, time.time())
        try:
            renew(self._session.folder, current)
        except UserError as error:
            log.warning("%s", error)

    def _measure(self) -> float:
        """Return the mean of the task's measure over recent episodes; NaN before the first."""
        return self._report.measure.get(self._task.measure_name, math.nan) if self._report else math.nan

    @contextmanager
    def _stage_errors(self) -> Iterator[None]:
        """Turn an unexpected error of a job into a StageFailedError with one sentence; the traceback goes to the log."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            log.info("The %s stage failed.", self._stage, exc_info=True)  # info: warnings go to the terminal too
            if isinstance(error, NotFiniteError):
                raise
            saved = f"checkpoint {self._checkpoint} and all answers are" if self._checkpoint else "all answers are"
            raise StageFailedError(
                f"the {self._stage} stage failed ({summary(error).rstrip('.')}); {saved} saved, and the session's log "
                "has the details"
            ) from error


def _own_state(states: Mapping[str, JobState]) -> tuple[int | None, RolloutReported | None]:
    """Return the number of the newest answer that the jobs had at a checkpoint, and the rollout's report at that time.

    (0, None) without a checkpoint; (None, None) for a checkpoint of the window, whose jobs do not run in lockstep.
    Raises UserError if the values are invalid.
    """
    if DRIVER not in states:
        return (None if states else 0), None
    with checkpoint_errors(DRIVER):
        values = states[DRIVER].values
        report = None
        if values["report"] is not None:
            report = RolloutReported(**{field.name: values["report"][field.name] for field in fields(RolloutReported)})
            require_count(report.env_steps)
            report.measure.items()
        return require_count(values["answers"]), report


def worth_processes(config: Config) -> bool:
    """Return whether a process per job is faster: for a robot, if the session and its batches have enough steps."""
    batch = config.rollout.environments * config.rollout.steps
    long = batch >= _PROCESSES_MIN_BATCH and config.steps >= _PROCESSES_MIN_STEPS
    return long and isinstance(get_task(config.task), RobotTask)


def _make_ports(
    config: Config, states: Mapping[str, JobState], threads: int, apart: bool | None
) -> dict[str, TurnPort]:
    """Build the three jobs, in this process or in processes of their own, by name. If one fails, the others are closed."""
    collectors_apart = bool(apart)
    if apart is None:
        free = free_memory()
        possible = threads > 1 and (free is None or free > _PROCESSES_MEMORY)
        apart = possible and worth_processes(config)
        long_game = config.steps >= _COLLECTORS_MIN_STEPS and isinstance(get_task(config.task), AtariTask)
        collectors_apart = possible and (apart or long_game)
    port_type = ProcessPort if apart else LocalPort
    ports: dict[str, TurnPort] = {}
    with ExitStack() as made:
        for name in JOBS:
            own_threads = min(threads, job_threads(name)) if apart else threads
            ports[name] = port_type(JobSpec(name, config.to_dict(), states.get(name)), own_threads, collectors_apart)
            made.callback(ports[name].close)
        made.pop_all()
    return ports
