"""Owns a session and all that works on it: the children, the answers, the checkpoints. No widgets."""

from __future__ import annotations

import itertools
import logging
import time
from enum import StrEnum

from PySide6.QtCore import QObject, QTimer, Signal

from app.history.preference_history import PreferenceHistory
from app.labelling.countdown import keep_start, usual_start
from app.labelling.labelling import Labelling
from app.labelling.progress import Progress
from app.labelling.true_reward_visibility import TrueRewardVisibility
from app.live.demonstrations import Demonstrations
from app.live.film_export import FilmExport
from app.live.policy_history import PolicyHistory
from app.live.replays import Replays
from app.session.metrics_recorder import EpisodeRewards, record, record_labels
from app.session.recovery import RecoveryAction, remedy
from app.workers.checkpointer import Checkpointer
from app.workers.file_tasks import FileTasks
from app.workers.job_group import JOB_NAMES, TOGETHER, JobGroup
from app.workers.job_worker import MakeProcess
from core.config import Config, replaced
from core.errors import summary
from core.events import (
    AnswersJudged,
    ClipsRendered,
    ClipsRequested,
    DemonstrationRecorded,
    Event,
    Failed,
    JobState,
    QueryOffered,
    ReplayRefused,
    ReplayRendered,
    ReplayRequested,
    RolloutReported,
    StateSaved,
    Waited,
)
from core.metrics import Metrics
from core.session.policy_snapshots import SnapshotInfo
from core.session.routing import SNAPSHOTS, kept_reward
from core.session.session import Session
from core.session.size_limits import FILMED_POOL
from core.tasks import get_task

log = logging.getLogger(__name__)
_LAST_CHECKPOINT_MS = 1500
"""How long stopping waits for the last checkpoint: a window must close within three seconds."""
_WAIT_SECONDS = 1.0
_FILMED = 4
"""Environments that keep pictures of what they do, where clips can't be drawn from a simulator's states."""
_DEMONSTRATE_EVERY = 4
"""Batches between two recordings for the live view: some seconds."""


def _for_window(config: Config) -> Config:
    """What differs with a window: a live view, rollouts one batch ahead, so that physics and updates overlap, and
    pairs kept ready whoever answers, since the oracle too is shown each pair and the teacher may change at any time.
    What must be filmed gives so few segments that a large pool would be full of what the policy did long ago.
    """
    lag = max(1, config.policy.lag)
    watched = {"rollout.demonstrate_every": _DEMONSTRATE_EVERY, "rollout.captured_envs": _FILMED}
    if get_task(config.task).pictures is not None:
        watched["query.pool"] = min(config.query.pool, FILMED_POOL)
    return replaced(config, teacher="human", policy__lag=lag, **watched)


class State(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Controller(QObject):
    """One teaching session in the window. What concerns labelling is in `labelling`.

    Signals:
        state_changed(str): one of State.
        job_failed(str, str): a stage has failed or died, the others are paused; what happened and what was kept, and
            what `restart` would do about it, in a word or two.
        trouble_arose(str): something else is to be told, mostly that it went wrong; it stops nothing. One sentence.
        demonstration_drawn(object): the newest Demonstration for the live view.
        stopped(): no child is left, and what could be saved is saved.
    """

    state_changed = Signal(str)
    job_failed = Signal(str, str)
    trouble_arose = Signal(str)
    demonstration_drawn = Signal(object)
    stopped = Signal()

    def __init__(self, session: Session, make_process: MakeProcess, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session, self.task = session, get_task(session.config.task)
        self.state = State.STOPPED
        self.metrics, self.episode = Metrics(), EpisodeRewards.none()
        self.progress = Progress(session.config, usual_start=usual_start(self.task.name))
        self._waits: dict[str, tuple[str, float]] = {}
        self._failures: dict[str, Failed] = {}
        self._remedy = RecoveryAction("Restart", _for_window(session.config))
        self._to_start: set[str] = set()
        self._last_number = 0
        """Of the checkpoint that stopping waits for."""
        self._refusal_told = False
        tokens = itertools.count(1)
        self.crew = JobGroup(make_process, self._remedy.config.to_dict(), self)
        self.checkpoints = Checkpointer(session, self.crew, self.metrics, self)
        self.errands = FileTasks(session, self.checkpoints, self)
        self.labelling = Labelling(session.store, self.crew.ports, self.progress, tokens, session.config, self)
        measure = self.task.measure_name
        self.true_reward = TrueRewardVisibility(self.labelling.teacher, self)
        self.demonstrations = Demonstrations(measure, tokens, self)
        self.past = PolicyHistory(session, self.checkpoints.disk, self._known, self)
        self.replays = Replays(self.past, measure, tokens, lambda: "clips" in self.crew.running, self)
        self.films = FilmExport(session.folder, self._remedy.config, make_process, self)
        self.crew.ports[SNAPSHOTS] = self.past
        self.history = PreferenceHistory(session, self.labelling, tokens, self)
        self._last_checkpoint = QTimer(self, singleShot=True, interval=_LAST_CHECKPOINT_MS)
        self._connect()

    def _connect(self) -> None:
        self.crew.event_arrived.connect(self._on_event)
        self.crew.job_ended.connect(self._on_job_ended)
        self.crew.dismissed.connect(self._on_dismissed)
        self.checkpoints.loaded.connect(self._on_loaded)
        self.checkpoints.saved.connect(self._on_saved)
        self.checkpoints.refused.connect(self._on_checkpoint_refused)
        self.checkpoints.damage_found.connect(self.trouble_arose)
        self.checkpoints.errand_ended.connect(self._on_errand_ended)
        self.labelling.teacher_changed.connect(self.true_reward.follow)
        for changed in (self.labelling.answer_kept, self.labelling.answer_restored, self.labelling.answer_withdrawn):
            changed.connect(self._on_labels_changed)
        self.labelling.clips_requested.connect(self._on_clips_requested)
        self.labelling.replay_refused.connect(self._on_replay_refused)
        self.labelling.pair_shown.connect(self._on_pair_shown)
        self.demonstrations.clips_requested.connect(self._on_clips_requested)
        self.demonstrations.demonstration_drawn.connect(self.demonstration_drawn)
        self.history.clips_requested.connect(self._on_clips_requested)
        self.history.judgement_requested.connect(self.crew.send)
        self._last_checkpoint.timeout.connect(self._dismiss)
        self.past.moments_changed.connect(self._on_moments_changed)
        self.past.trouble_arose.connect(self.trouble_arose)
        self.replays.replay_requested.connect(self._on_clips_requested)
        self.replays.replay_refused.connect(self.trouble_arose)
        self.films.film_ended.connect(self.trouble_arose)
        self.films.film_refused.connect(self.trouble_arose)

    @property
    def waits(self) -> dict[str, str]:
        """Why jobs wait, by name. An idle job says so four times a second; one that is silent is at work."""
        now = time.monotonic()
        return {job: reason for job, (reason, said) in self._waits.items() if now - said < _WAIT_SECONDS}

    def start(self) -> None:
        """Starts all jobs from the newest checkpoint, with every answer."""
        if self.state == State.STOPPED:
            self._to_start = set(JOB_NAMES)
            self._enter(State.STARTING)
            self.past.list()
            self.checkpoints.load()

    def pause(self, on: bool) -> None:
        if self.state == (State.RUNNING if on else State.PAUSED):
            self.crew.pause(on)
            self._enter(State.PAUSED if on else State.RUNNING)

    def restart(self) -> None:
        """Starts what failed again, from the last checkpoint and with what its remedy changes; the others go on."""
        if self.state == State.FAILED:
            self.crew.configure(self._remedy.config.to_dict())
            self._enter(State.RESTARTING)
            self.crew.dismiss(self._to_start)
            self._load_when_ended()

    def stop(self) -> None:
        """Takes a last checkpoint and ends the children; `stopped` follows within 3 s, or when the last errand ends."""
        if self.state == State.STOPPING:
            return
        if self.state == State.STOPPED and not self.checkpoints.runs_errands:
            self.stopped.emit()
            return
        self._enter(State.STOPPING)
        self._last_number = self.checkpoints.request(self._to_start)
        if self._last_number:
            self._last_checkpoint.start()
        else:
            self._dismiss()

    def leave(self) -> None:
        """As `stop`, for good: a file that takes longer than two seconds is given up, so that the window closes."""
        self.errands.hurry()
        self.stop()

    def close(self) -> None:
        """After `stopped`: ends every thread and lets the session go."""
        self.errands.patience.stop()
        self.films.close()
        self.history.close()
        self.labelling.close()
        self.crew.close()
        self.checkpoints.close()
        self.session.close()

    def show_pairs_again(self, on: bool) -> None:
        """Whether some pairs are put to the person a second time, in this session from now on."""
        self.labelling.repeats.on = on
        value, told = (
            ("on", "Some pairs come again from now on.") if on else ("off", "No pair comes again from now on.")
        )
        self.checkpoints.run(lambda: self.session.reconfigure(query__repeats=value), told)

    def _enter(self, state: State) -> None:
        log.info("%s, %d answers", state, self.progress.labels)
        self.state = state
        if state == State.STARTING:
            if self.labelling.pairs.shown is None:  # else the first pair waits for the person
                self.progress.first_pair.begin()
        elif state != State.RUNNING:
            self.progress.first_pair.drop()
        self.checkpoints.keep_saving(state == State.RUNNING)
        self.progress.run(state == State.RUNNING)
        self.labelling.set_open(state not in (State.STOPPING, State.STOPPED))
        self.state_changed.emit(state)

    def _on_loaded(self, states: dict[str, JobState]) -> None:
        names = self._to_start
        if self.state not in (State.STARTING, State.RESTARTING) or names & set(self.crew.running):
            return  # with one more to wait for, it is loaded again when that has ended
        try:
            self.crew.start([name for name in JOB_NAMES if name in names], states)
        except Exception as error:  # too many open files, above all
            log.exception("The stages can't be started.")
            told = f"The stages can't be started: {summary(error).rstrip('.')}."
            self._fail(f"{told} {self._kept()}", RecoveryAction("Restart", self._remedy.config))
            return
        self._to_start = set()
        self.labelling.replay(tuple(name for name in ("reward", "rollout") if name in names))
        if "clips" in names:
            self.demonstrations.forget()
            if reward := kept_reward(states):
                self.crew.send(reward, ("clips",))
            self.replays.forget()
            self.labelling.redraw()
            self.history.redraw()
        if "rollout" in names:
            self.labelling.forget_offered()
        self.crew.pause(False)
        self._enter(State.RUNNING)

    def _on_event(self, event: Event) -> None:
        self.progress.passed()
        match event:
            case Waited(job, reason):
                self._waits[job] = reason, time.monotonic()
            case QueryOffered(query):
                self.labelling.offer(query)
            case ClipsRendered():
                if not (self.labelling.take_clips(event) or self.history.take_clips(event)):
                    self.demonstrations.take_clips(event)
            case AnswersJudged():
                self.history.take_judgement(event)
            case DemonstrationRecorded():
                self.episode = EpisodeRewards.of(event, self.task.step_seconds)
                self.demonstrations.take(event)
            case ReplayRendered() | ReplayRefused():
                self.replays.take(event)
            case StateSaved():
                self.checkpoints.take(event)
            case Failed():
                self._failures[event.job] = event
                log.error("The %s stage failed: %s\n%s", event.job, event.summary, event.text)
            case _:
                self._on_report(event)
        self.demonstrations.draw_if_due(self.labelling.pairs.pair_ready)

    def _on_report(self, event: Event) -> None:
        if isinstance(event, RolloutReported):
            self.progress.reported(event.env_steps, event.divergences)
            if self.progress.explores:  # the seconds to the first pair are not those of a start then
                self.progress.first_pair.drop()
            self.labelling.wake_oracle()
        record(event, self.metrics, self.progress)

    def _on_labels_changed(self) -> None:
        record_labels(self.metrics, self.progress)

    def _known(self) -> tuple[int, float, float]:
        """For a policy that is kept. Called in a worker's thread."""
        _, figures = self.metrics.snapshot(self.task.measure_name)
        return self.progress.labels, self.progress.seconds, float(figures[-1]) if len(figures) else float("nan")

    def _on_moments_changed(self, moments: tuple[SnapshotInfo, ...]) -> None:
        if not self.progress.seconds and moments:
            self.progress.seconds_before = moments[-1].seconds

    def _on_clips_requested(self, event: ClipsRequested | ReplayRequested) -> None:
        self.crew.send(event)

    def _on_pair_shown(self) -> None:
        if seconds := self.progress.first_pair.end():
            keep_start(self.task.name, seconds)

    def _on_job_ended(self, name: str, reason: str) -> None:
        failure = self._failures.pop(name, Failed(name, "its process ended unexpectedly", ""))
        if self.state == State.RESTARTING:
            self._start_again_too((name,))
        elif self.state == State.STOPPING:
            self._dismiss()  # no checkpoint can be whole any more
        elif reason != "stopped":
            self._to_start |= set(TOGETHER[name])
            told = f"The {failure.job} stage stopped: {failure.summary.rstrip('.')}."
            self._fail(f"{told} {self._kept()} The other stages are paused.", remedy(failure, self._remedy.config))

    def _on_replay_refused(self, names: tuple[str, ...], told: str) -> None:
        """These jobs lack answers: they end, and what they have learned without those is not kept."""
        if self.state == State.RESTARTING:
            self._start_again_too(names)
        elif self.state in (State.RUNNING, State.PAUSED, State.FAILED):
            self._to_start |= {job for name in names for job in TOGETHER[name]}
            more = "No new answer is taken until the stages have been given every one; they are paused."
            self._fail(f"{told} {more}", RecoveryAction("Restart", self._remedy.config))
            self.crew.dismiss(self._to_start)

    def _start_again_too(self, names: tuple[str, ...]) -> None:
        """While others are on their way to being started again."""
        self._to_start |= {job for name in names for job in TOGETHER[name]}
        self.crew.dismiss(self._to_start)
        self._load_when_ended()

    def _fail(self, told: str, found: RecoveryAction) -> None:
        """The stages that go on hold still, and what they have learned is kept, until the person decides."""
        self.crew.pause(True)
        self.checkpoints.request(self._to_start)
        self._remedy = found
        self._enter(State.FAILED)
        self.job_failed.emit(told, found.name)

    def _load_when_ended(self) -> None:
        if not self._to_start & set(self.crew.running):
            self.checkpoints.load()

    def _kept(self) -> str:
        """What is safe, in plain words."""
        count = self.progress.labels
        answers = "Your answer is on disk" if count == 1 else f"All {count} answers are on disk"
        saved = self.checkpoints.saved_at
        if saved is None:
            return f"{answers}; there is no checkpoint from this run yet."
        return f"{answers}; the last checkpoint is from {time.strftime('%H:%M:%S', time.localtime(saved))}."

    def _on_saved(self, number: int) -> None:
        self._refusal_told = False
        self._go_on_stopping(number)

    def _go_on_stopping(self, number: int) -> None:
        if self.state == State.STOPPING and number == self._last_number:
            self._dismiss()

    def _on_checkpoint_refused(self, sentence: str, number: int) -> None:
        """number: 0 where none could be loaded."""
        waited = number == 0 and self.state in (State.STARTING, State.RESTARTING)
        if waited:
            self._to_start = set(self._to_start or JOB_NAMES)
            self._enter(State.FAILED if self.crew.running else State.STOPPED)
        if waited and self.state == State.FAILED:
            self.job_failed.emit(sentence, self._remedy.name)
        elif number == 0 or self.state == State.STOPPING or not self._refusal_told:
            self._refusal_told = number > 0  # a folder that is gone is told of once, and not every minute
            self.trouble_arose.emit(sentence)
        self._go_on_stopping(number)

    def _dismiss(self) -> None:
        self._last_checkpoint.stop()
        self.crew.dismiss()

    def _on_errand_ended(self, told: str) -> None:
        self.trouble_arose.emit(told)
        self._on_dismissed()

    def _on_dismissed(self) -> None:
        if self.state == State.STOPPING and not (self.crew.running or self.checkpoints.runs_errands):
            self._enter(State.STOPPED)
            self.stopped.emit()
