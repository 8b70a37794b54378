"""Controller of one session: its child jobs, answers, checkpoints and files. No widgets."""

import logging
import time
from enum import StrEnum

from PySide6.QtCore import QObject, QTimer, Signal

from app.history.preference_history import PreferenceHistory
from app.labelling.countdown import save_start_seconds, usual_start_seconds
from app.labelling.labelling import Labelling
from app.labelling.progress import Progress
from app.labelling.true_reward_visibility import TrueRewardVisibility
from app.live.demonstrations import Demonstrations, picture_size
from app.live.exports import FilmExport, PortableExport
from app.live.policy_history import PolicyHistory
from app.live.replays import Replays
from app.session.factory import window_config
from app.session.finishing import Finishing
from app.session.metrics_recorder import episode_metrics, of_figure, record, record_labels, resume_figures
from app.session.recovery import RecoveryAction, failure_sentence, recovery_action, saved_work
from app.voting.rounds import VoteRounds
from app.workers.checkpointer import Checkpointer
from app.workers.file_tasks import FileTasks
from app.workers.job_group import JOB_NAMES, TOGETHER, JobGroup
from app.workers.job_requests import JobAnswer, JobRequests
from app.workers.job_worker import MakeProcess
from core.errors import summary
from core.events import (
    DemonstrationRecorded,
    Event,
    Failed,
    HoldChanged,
    JobState,
    QueryOffered,
    QueryWithdrawn,
    RewardRequested,
    RolloutReported,
    StateSaved,
    Waited,
)
from core.metrics import Metrics
from core.session.job_states import kept_reward
from core.session.routing import JOBS, SNAPSHOTS
from core.session.session import Session
from core.tasks import get_task

log = logging.getLogger(__name__)
_LAST_CHECKPOINT_MS = 30_000
"""Longest wait for the last checkpoint after Stop."""
_EXIT_MS = 1500
"""Longest wait for it when the window closes, which takes at most three seconds."""
LOST_TRAINING = "The training since the last checkpoint could not be saved."
_WAIT_SECONDS = 1.0
"""Age at which a job's reason for waiting is out of date; an idle job repeats it twice a second."""


class State(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Controller(QObject):
    """Controller of one session in the window; owns the objects that work on it.

    last_checkpoint_timer: time until a stop abandons its last checkpoint
    exit_timer: the same, shorter, while the window closes

    Signals:
        state_changed(str): the new State.
        job_failed(str, str): training stopped because of a failure; the message and the label of the restart button.
        succeeded(str): a request of the person has succeeded, or has begun; one sentence.
        trouble_arose(str): a notice for the person, one sentence; nothing stops.
        stopped(): all children have ended and the session is saved.
    """

    state_changed = Signal(str)
    job_failed = Signal(str, str)
    succeeded = Signal(str)
    trouble_arose = Signal(str)
    stopped = Signal()

    def __init__(self, session: Session, make_process: MakeProcess) -> None:
        super().__init__()
        self.session, self.task = session, get_task(session.config.task)
        self.state = State.STOPPED
        self.metrics, self.episode = Metrics(), Metrics()
        self.progress = Progress(session.config, usual_start=usual_start_seconds(self.task.name))
        self.course = self.progress.course
        self._waits: dict[str, tuple[str, float]] = {}
        self._failures: dict[str, Failed] = {}
        self._recovery = RecoveryAction("Restart", window_config(session.config))
        self._jobs_to_start: set[str] = set()
        self._undoing_finish = False
        """True until the disk has the checkpoint from before the finish as its newest one."""
        self._final_checkpoint = 0
        """Number of the checkpoint that stopping waits for."""
        config, measure = self._recovery.config, self.task.measure_name
        self.job_group = JobGroup(make_process, config, self)
        requests = self._job_requests = JobRequests(self.job_group.send)
        self.checkpointer = Checkpointer(session, self.job_group, self.metrics, self)
        self._finishing = Finishing(self.course, self.checkpointer, self.job_group.send)
        self.file_tasks = FileTasks(session, self)
        self.labelling = Labelling(session.store, self.job_group.ports, self.progress, requests, session.config, self)
        self.true_reward = TrueRewardVisibility(self.labelling.teacher, self)
        self.demonstrations = Demonstrations(measure, requests, self)
        self.policy_history = PolicyHistory(session, self.checkpointer.disk, self._snapshot_figures, self)
        self.replays = Replays(self.policy_history, measure, requests, lambda: "clips" in self.job_group.running, self)
        self.film_export = FilmExport(session.folder, config, make_process, self)
        self.portable_export = PortableExport(session.folder, config, make_process, self)
        self.votes = VoteRounds(session.folder, self.labelling, make_process, lambda: self.votes_wait, self)
        self.job_group.ports[SNAPSHOTS] = self.policy_history
        self.preference_history = PreferenceHistory(session, self.labelling.preference_writer, requests, self)
        self.last_checkpoint_timer = QTimer(self, singleShot=True, interval=_LAST_CHECKPOINT_MS)
        self.exit_timer = QTimer(self, singleShot=True, interval=_EXIT_MS)
        self._connect()

    def _connect(self) -> None:
        self.job_group.event_arrived.connect(self._on_event)
        self.job_group.job_ended.connect(self._on_job_ended)
        self.job_group.dismissed.connect(self._finish_stopping)
        self.checkpointer.loaded.connect(self._on_loaded)
        self.checkpointer.saved.connect(self._continue_after)
        self.checkpointer.refused.connect(self._on_checkpoint_refused)
        self.file_tasks.task_done.connect(self.succeeded)
        self.file_tasks.task_failed.connect(self.trouble_arose)
        for ended in (self.file_tasks.task_done, self.file_tasks.task_failed):
            ended.connect(self._finish_stopping)
        for export in (self.film_export, self.portable_export):
            export.made.connect(self.succeeded)
        self.portable_export.begun.connect(self.succeeded)
        self.labelling.teacher_changed.connect(self.true_reward.follow)
        self.labelling.replay_refused.connect(self._on_replay_refused)
        self.labelling.pair_shown.connect(self._on_pair_shown)
        for changed in (self.labelling.answer_kept, self.labelling.answer_restored, self.labelling.answer_withdrawn):
            changed.connect(lambda: record_labels(self.metrics, self.progress))
        self.labelling.finish_ended.connect(self._finishing.end)
        for timer in (self.last_checkpoint_timer, self.exit_timer):
            timer.timeout.connect(self._dismiss_jobs)
        self.state_changed.connect(self.votes.follow)
        self.policy_history.snapshots_changed.connect(self.progress.take_time_from)
        for trouble in (
            *(self.labelling.trouble_arose, self.checkpointer.damage_found),
            *(self.policy_history.trouble_arose, self.replays.replay_refused),
            *(self.film_export.failed, self.film_export.refused),
            *(self.portable_export.failed, self.portable_export.refused),
        ):
            trouble.connect(self.trouble_arose)

    @property
    def waits(self) -> dict[str, str]:
        """Reasons for waiting, by job name; a job that is at work has none."""
        oldest = time.monotonic() - _WAIT_SECONDS
        return {job: reason for job, (reason, since) in self._waits.items() if since > oldest}

    def _saved_work(self) -> str:
        return saved_work(self.checkpointer.any_saved, self.checkpointer.saved_at)

    def start(self) -> None:
        """Start all jobs from the newest checkpoint and replay every answer."""
        if self.state == State.STOPPED:
            self._jobs_to_start = set(JOB_NAMES)
            self._enter(State.STARTING)
            self.policy_history.list()
            self.checkpointer.load()

    def pause(self, on: bool) -> None:
        if self.state == (State.RUNNING if on else State.PAUSED):
            self.job_group.pause(on)
            self._enter(State.PAUSED if on else State.RUNNING)

    def pause_or_resume(self) -> None:
        """Pause training that runs, resume it if it is paused, and start it again if it is stopped."""
        if self.state == State.STOPPED:
            self.start()
        else:
            self.pause(self.state == State.RUNNING)

    def restart(self) -> None:
        """Restart the failed jobs from the last checkpoint, with the changes of the recovery action."""
        if self.state == State.FAILED:
            self.job_group.config = self._recovery.config
            self._enter(State.RESTARTING)
            self._restart_also(())

    def hold(self, on: bool) -> None:
        """Let training wait for answers if `on`, or continue without them."""
        self.course.lifted = not on
        self.course.holding &= on  # the next report announces a new hold
        self.job_group.send(HoldChanged(on))

    @property
    def can_finish(self) -> bool:
        """True while training that follows the answers is under way or waits, and is not being finished."""
        course = self.course
        if self.state != State.RUNNING:
            return False
        return course.follows_answers and course.started and course.finishing is None and not course.done

    @property
    def can_undo_finish(self) -> bool:
        """True from the beginning of a finish to the next one, if the checkpoint from before it is kept."""
        return self.state == State.RUNNING and self.checkpointer.can_undo_finish

    @property
    def votes_wait(self) -> bool:
        """True while no answer is accepted, and while training is paused, finishes or is finished.

        The audience's answer would end the finish.
        """
        return not self.labelling.open or self.state == State.PAUSED or self.course.finish_asked

    def set_live_pixels(self, pixels: float) -> None:
        """Choose the rendered size for a live view with this many pixels on screen: enlarged frames look jagged."""
        self.demonstrations.size = self.replays.size = picture_size(pixels)

    @property
    def unfinished_files(self) -> list[str]:
        """Names of the films, ONNX files, exports and plots that are being written."""
        exports = self.film_export, self.portable_export
        made = [export.unfinished.name for export in exports if export.unfinished is not None]
        return [*made, *self.file_tasks.unfinished]

    @property
    def lost_training(self) -> bool:
        """True if a stopped session could not save the training since the last checkpoint."""
        return self.checkpointer.unsaved

    @property
    def unsaved_reason(self) -> str:
        """Reason that the training under way can't be saved, one sentence; '' if it can, or none is under way."""
        return self.checkpointer.trouble if self.checkpointer.retries and self.checkpointer.unsaved else ""

    @property
    def abandoned(self) -> str:
        """Sentences about training and files that could not be saved when the session was closed; '' if all were."""
        parts = self.file_tasks, self.film_export, self.portable_export
        training = [LOST_TRAINING] if self.lost_training else []
        return " ".join([*training, *(part.abandoned for part in parts if part.abandoned)])

    def finish(self) -> None:
        """Start a finish. The next answer ends it, and it can be undone until the next finish."""
        if self.can_finish:
            self._finishing.begin()
            self.votes.follow()

    def undo_finish(self) -> None:
        """Return training to where it was before the finish; the answers stay."""
        if self.can_undo_finish:
            self._recovery = RecoveryAction("Restart", self.job_group.config)
            self._undoing_finish = True
            self._jobs_to_start |= set(JOBS)
            self._enter(State.RESTARTING)
            self.checkpointer.drop_request()
            self.checkpointer.disk.do(self.session.undo_finish, self._on_finish_undone, self._on_undo_refused)

    def stop(self) -> None:
        """Take a last checkpoint and end the children.

        `stopped` follows when the checkpoint is on disk or has taken too long, and the last file task has ended.
        """
        if self.state == State.STOPPING:
            return
        if self.state == State.STOPPED and not self.file_tasks.running:
            self.stopped.emit()
            return
        self._enter(State.STOPPING)
        self._final_checkpoint = self.checkpointer.request(self._jobs_to_start)
        if self._final_checkpoint:
            self.last_checkpoint_timer.start()
        else:
            self._dismiss_jobs()

    def stop_for_exit(self) -> None:
        """Stop, or continue a stop, so that the window closes soon.

        Abandon a checkpoint and file tasks that take longer than `exit_timer` and their deadline.
        """
        self.file_tasks.deadline.start()
        self.exit_timer.start()
        self.stop()

    def close(self) -> None:
        """Release the session and end every thread. Call it after `stopped`."""
        self.file_tasks.close()
        self.film_export.close()
        self.portable_export.close()
        self.votes.close()
        self.preference_history.close()
        self.labelling.close()
        self.job_group.close()
        self.checkpointer.close()
        self.session.close()

    def set_repeats(self, on: bool) -> None:
        """Switch the repetition of some pairs on or off, and save the setting in the session's config."""
        self.labelling.repeats.on = on
        message = "Some pairs will be shown twice." if on else "Each pair will be shown once."
        value = "on" if on else "off"
        self.file_tasks.run(lambda: self.session.reconfigure(query__repeats=value), message)

    def _enter(self, state: State) -> None:
        log.info("%s, %d answers", state, self.progress.labels)
        self.state = state
        self._undoing_finish &= state == State.RESTARTING
        if self._finishing.waiting and state not in (State.RUNNING, State.PAUSED):
            self._finishing.end()
        if state == State.STARTING:
            if self.labelling.pairs.shown is None:  # otherwise the first pair is waiting for an answer
                self.progress.first_pair.begin()
        elif state != State.RUNNING:
            self.progress.first_pair.drop()
        self.checkpointer.regular = state == State.RUNNING
        self.checkpointer.retries = state in (State.RUNNING, State.PAUSED, State.FAILED)
        self.progress.run(state == State.RUNNING)
        self.labelling.set_open(state not in (State.STOPPING, State.STOPPED) and not self._undoing_finish)
        self.state_changed.emit(state)

    def _on_loaded(self, states: dict[str, JobState]) -> None:
        if not states:  # earlier policies may have been set aside with damaged checkpoints
            self.policy_history.list()
        names = self._jobs_to_start
        if self.state not in (State.STARTING, State.RESTARTING) or names & set(self.job_group.running):
            return  # another job is still ending: the checkpoint is loaded again after it
        if "rollout" in names:
            self.course.end_finish()  # the checkpoint may be from before the finish
            resume_figures(states, self.metrics, self.progress)
        try:
            self.job_group.start([name for name in JOB_NAMES if name in names], states)
        except Exception as error:  # typically too many open files
            log.exception("The jobs can't be started.")
            text = f"Training can't start: {summary(error).rstrip('.')}. {self._saved_work()}"
            self._fail(text, RecoveryAction("Restart", self.job_group.config))
            return
        self._jobs_to_start = set()
        self.labelling.replay(tuple(name for name in ("reward", "rollout") if name in names))
        self.preference_history.reopen()
        if "rollout" in names:
            self.labelling.forget_offered()
            if "reward" not in names:  # it continues, and its latest snapshot may not be in the rollout's checkpoint
                self.job_group.send(RewardRequested())
            if self.course.lifted:
                self.hold(False)
        if {"clips", "reward"} & names and (reward := kept_reward(states)):
            self.job_group.send(reward, ("clips",))
        self._job_requests.resend(names)
        self.job_group.pause(False)
        self._enter(State.RUNNING)

    def _on_event(self, event: Event) -> None:
        self.progress.passed()
        match event:
            case Waited():
                self._on_waited(event)
            case QueryOffered(query):
                self.labelling.offer(query)
            case QueryWithdrawn(query_id):
                self.labelling.withdraw_query(query_id)
            case _ if isinstance(event, JobAnswer):
                self._job_requests.answer(event)
            case DemonstrationRecorded():
                self._on_recorded(event)
            case StateSaved():
                self.checkpointer.add_state(event)
            case Failed():
                self._failures[event.job] = event
            case _:
                if isinstance(event, RolloutReported):
                    self._on_reported(event)
                record(event, self.metrics, self.progress)
                if self.state != State.STOPPING:  # the last checkpoint has been requested
                    self.checkpointer.note(event)
        self.demonstrations.draw_if_due(self.labelling.pairs.ready > 0)

    def _on_waited(self, event: Waited) -> None:
        self._waits[event.job] = event.reason, time.monotonic()
        self.checkpointer.note(event)  # so that progress before a hold is saved, too
        if event.job == "rollout" and "rollout" not in self._jobs_to_start:  # else it is of the one that ends
            self.course.waited(event.reason)
            self.labelling.wake_oracle()
            self.votes.follow()

    def _on_recorded(self, event: DemonstrationRecorded) -> None:
        if "rollout" not in self._jobs_to_start:  # else it may be of a policy that was undone
            self.episode = episode_metrics(event, self.task.step_seconds)
            self.demonstrations.take(event, self.progress.labels)

    def _on_reported(self, event: RolloutReported) -> None:
        self.progress.reported(event.env_steps, event.divergences, event.agreement)
        self.course.reported(event.env_steps, event.predicted_return, event.finishing)
        self.labelling.wake_oracle()
        self.votes.follow()

    def _snapshot_figures(self) -> tuple[int, float, float]:
        """Labels, seconds of training and the newest measure, for a policy snapshot. Called in a worker's thread."""
        _, figures = self.metrics.snapshot(of_figure(self.task.measure_name))
        return self.progress.labels, self.progress.seconds, float(figures[-1]) if len(figures) else float("nan")

    def _on_pair_shown(self) -> None:
        if seconds := self.progress.first_pair.end():
            save_start_seconds(self.task.name, seconds)

    def _on_job_ended(self, name: str, reason: str) -> None:
        failure = self._failures.pop(name, Failed(name, "its process ended unexpectedly", ""))
        if self._undoing_finish:  # the jobs are started again after it
            self._jobs_to_start |= set(TOGETHER[name])
            return
        if self.state == State.RESTARTING:
            self._restart_also((name,))
        elif self.state == State.STOPPING:
            self._dismiss_jobs()  # no complete checkpoint can follow
        elif reason != "stopped":
            self._jobs_to_start |= set(TOGETHER[name])
            text = f"{failure_sentence(failure)} {self._saved_work()}"
            self._fail(text, recovery_action(failure, self.job_group.config))

    def _on_replay_refused(self, names: tuple[str, ...], sentence: str) -> None:
        """End the jobs that lack answers, without saving what they have learned."""
        if self.state == State.RESTARTING:
            self._restart_also(names)
        elif self.state in (State.RUNNING, State.PAUSED, State.FAILED):
            self._jobs_to_start |= {job for name in names for job in TOGETHER[name]}
            more = "Training stops until every answer can be read."
            self._fail(f"{sentence} {more}", RecoveryAction("Restart", self.job_group.config))
            self.job_group.dismiss(self._jobs_to_start)

    def _restart_also(self, names: tuple[str, ...]) -> None:
        """Add jobs to those that are being restarted; the checkpoint is loaded when all of them have ended."""
        self._jobs_to_start |= {job for name in names for job in TOGETHER[name]}
        self.job_group.dismiss(self._jobs_to_start)
        if not self._jobs_to_start & set(self.job_group.running):
            self.checkpointer.load()

    def _on_finish_undone(self, _: object) -> None:
        self._undoing_finish = False
        self.demonstrations.forget()
        self.episode = Metrics()
        self.succeeded.emit("The finish is undone; all answers stay.")
        if self.state == State.RESTARTING:
            self._restart_also(JOBS)

    def _on_undo_refused(self, sentence: str) -> None:
        self._undoing_finish = False
        self.trouble_arose.emit(sentence)
        failed = self._jobs_to_start - set(self.job_group.running)
        self._jobs_to_start = set()
        if self.state == State.RESTARTING and failed:
            self._restart_also(tuple(failed))
        elif self.state == State.RESTARTING:
            self._enter(State.RUNNING)

    def _fail(self, text: str, recovery: RecoveryAction) -> None:
        """Pause the remaining jobs and save their states, until the person decides."""
        self.job_group.pause(True)
        self._recovery = recovery
        self._enter(State.FAILED)
        self.job_failed.emit(text, recovery.name)
        self.checkpointer.request(self._jobs_to_start)

    def _on_checkpoint_refused(self, sentence: str, number: int) -> None:
        """number: the checkpoint that could not be saved; 0 if none could be loaded."""
        starting = number == 0 and self.state in (State.STARTING, State.RESTARTING)
        if starting:
            self._enter(State.FAILED if self.job_group.running else State.STOPPED)
        if starting and self.state == State.FAILED:
            self.job_failed.emit(sentence, self._recovery.name)
        elif number == 0 or self.state == State.STOPPING:
            self.trouble_arose.emit(sentence)
        self._continue_after(number)

    def _continue_after(self, checkpoint: int) -> None:
        self._finishing.saved(checkpoint)
        if self.state == State.STOPPING and checkpoint == self._final_checkpoint:
            self._dismiss_jobs()

    def _dismiss_jobs(self) -> None:
        self.last_checkpoint_timer.stop()
        self.exit_timer.stop()
        self.job_group.dismiss()

    def _finish_stopping(self) -> None:
        if self.state == State.STOPPING and not (self.job_group.running or self.file_tasks.running):
            self._enter(State.STOPPED)
            self.stopped.emit()
