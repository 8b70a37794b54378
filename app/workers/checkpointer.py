"""Checkpoints: requests the jobs' states as they learn, and saves them with the metrics once all have answered.

When a job fails, the others are asked at once, so that their progress since the last checkpoint is saved.
"""

import logging
import time
from collections.abc import Collection

from PySide6.QtCore import QEventLoop, QObject, QTimer, Signal

from app.workers.background_thread import BackgroundThread
from app.workers.job_group import TOGETHER, JobGroup
from core.events import Event, JobState, StateRequested, StateSaved
from core.metrics import Metrics
from core.session import metrics_file
from core.session.checkpoint_schedule import INTERVAL, CheckpointSchedule
from core.session.routing import DRIVER, JOBS
from core.session.session import Session

log = logging.getLogger(__name__)


class Checkpointer(QObject):
    """Saves as the jobs learn, and on request; loads at the start and for a restart.

    regular: checkpoints are saved when they are due
    retries: a refused checkpoint is tried again each time `retry_timer` ends
    schedule: decides when a checkpoint is due
    disk: thread of the session's files; its tasks run one after the other
    any_saved: the session has a checkpoint, of this run or an earlier one
    saved_at: time of the last checkpoint of this run, seconds since the epoch
    can_undo_finish: the checkpoint from before the finish is kept
    trouble: why the newest checkpoint could not be saved, one sentence; '' if it was saved

    Signals:
        loaded(object): the newest states by job name; empty if there are none.
        saved(int): the checkpoint with this number is on disk.
        refused(str, int): loading or saving failed; one sentence, and the number to be saved, or 0.
        damage_found(str): the newest checkpoint is damaged, and the one before or the answers alone are used; one
            sentence.
    """

    loaded = Signal(object)
    saved = Signal(int)
    refused = Signal(str, int)
    damage_found = Signal(str)

    def __init__(self, session: Session, job_group: JobGroup, metrics: Metrics, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._job_group, self._metrics = session, job_group, metrics
        self._number = 0
        self._before_finish = 0
        """Number of the checkpoint to be kept from before the finish; 0 for none."""
        self._asked: set[str] = set()
        self._states: dict[str, JobState] = {}
        self.any_saved = self.can_undo_finish = self._metrics_read = self._saving = False
        self._progress_asked = self._progress_saved = 0
        """The schedule's progress when the newest checkpoint was requested, and that of the newest one on disk."""
        self.regular = self.retries = False
        self.schedule = CheckpointSchedule()
        self.retry_timer = QTimer(self, singleShot=True, interval=round(1000 * INTERVAL))
        self.retry_timer.timeout.connect(self._retry)
        self.saved_at: float | None = None
        self.trouble = ""
        self.disk = BackgroundThread(self)

    @property
    def unsaved(self) -> bool:
        """True if the jobs have learned since the newest checkpoint on disk was requested."""
        return self.schedule.progress > self._progress_saved

    def load(self) -> None:
        """Load the newest checkpoint; `loaded` or `refused` follows."""
        self._saving = False  # a job that has ended may have owed its state
        self.disk.do(self._load, self._on_loaded, lambda sentence: self._refuse(sentence, "loaded", 0))

    def _load(self) -> tuple[int, dict[str, JobState]]:
        """Load states, and metrics the first time only: later this run has the newer ones. In the disk's thread."""
        newest = self._session.resume(self.damage_found.emit)
        if not self._metrics_read:
            self._metrics_read = True
            metrics_file.load(self._session.folder, self._metrics)
        self.can_undo_finish = self._session.before_finish.kept
        return newest

    def note(self, event: Event) -> None:
        """Take an event of a job, and request a checkpoint if one is due."""
        self.schedule.note(event)
        if self.regular and not self._saving and self.schedule.due:
            self.request()

    def _retry(self) -> None:
        if not self.trouble or not self.unsaved:
            return
        if not self.retries or self._saving or not self.request():
            self.retry_timer.start()

    def save_now(self, patience_ms: int) -> None:
        """Save a checkpoint and block until it is on disk or refused, but not for longer than `patience_ms`.

        If one is being saved, wait for that one: the finish that it precedes would never begin without it.
        """
        loop, number = QEventLoop(), self._number if self._saving else self.request()

        def end(reached: int) -> None:
            if reached >= number:  # an earlier one may still be on its way to the disk
                loop.quit()

        def end_refused(sentence: str, reached: int) -> None:
            end(reached)

        self.saved.connect(end)
        self.refused.connect(end_refused)
        if number:
            QTimer.singleShot(patience_ms, loop, loop.quit)
            loop.exec(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
        self.saved.disconnect(end)
        self.refused.disconnect(end_refused)

    def request(self, lost: Collection[str] = ()) -> int:
        """Request a checkpoint and return its number.

        A job that has ended, and those that return to a checkpoint together with it, keep the state saved last. Return
        0 if no job can be asked, or a job has ended before its first checkpoint.

        lost: running jobs whose states must not be saved
        """
        missing = set(JOBS) - set(self._job_group.running) | set(JOBS) & set(lost)
        asked = set(JOBS) - {name for job in missing for name in TOGETHER[job]}
        if not asked or missing and not self.any_saved:
            return 0
        self._number += 1
        self._saving = True
        self.schedule.saved()
        self._progress_asked = self.schedule.progress
        self._asked, self._states = asked, {}
        self._job_group.send(StateRequested(self._number), asked)
        return self._number

    def keep_before_finish(self) -> int:
        """Request a checkpoint and keep it, in place of an earlier one, as that to which an undone finish returns.

        Return its number, or 0 if none can be requested. If none can be kept, no finish can be undone.
        """
        self._before_finish = self.request()
        if not self._before_finish:
            self._forget_before_finish()
        return self._before_finish

    def cancel_before_finish(self) -> None:
        """Cancel the keeping of a checkpoint that is not on disk yet, as its finish does not begin. An earlier one stays."""
        self._before_finish = 0

    def drop_request(self) -> None:
        """Drop the request for a checkpoint that the jobs have not answered yet."""
        self._number += 1
        self._asked, self._states, self._saving = set(), {}, False

    def _forget_before_finish(self) -> None:
        self.can_undo_finish = False
        self.disk.do(self._session.before_finish.forget)

    def add_state(self, event: StateSaved) -> None:
        """Add a job's state to the checkpoint; save it once complete. States of older requests are dropped."""
        if event.number != self._number:
            return
        self._states[event.job] = event.state
        if set(self._states) == self._asked:
            number, states, progress = self._number, self._states, self._progress_asked
            self._states = {}
            self.disk.do(
                lambda: self._save(number, states, progress),
                lambda kept: self._on_saved(number, kept),
                lambda sentence: self._refuse(sentence, "saved", number),
            )

    def _save(self, number: int, states: dict[str, JobState], progress: int) -> bool:
        """Save a checkpoint; jobs without a new state keep the one saved last. In the disk's thread.

        Return whether it is also kept as the one from before a finish.
        """
        before = self._session.load() if set(states) != set(JOBS) else None
        missing = {name: state for name, state in (before[1] if before else {}).items() if name != DRIVER}
        self._session.save(number, {**missing, **states})
        self._progress_saved = progress
        metrics_file.save(self._session.folder, self._metrics)
        return number == self._before_finish and self._session.before_finish.keep(number)

    def _on_loaded(self, newest: tuple[int, dict[str, JobState]]) -> None:
        number, states = newest
        self._number = max(self._number, number)
        self.any_saved = number > 0
        if not set(JOBS) & set(self._job_group.running):  # what was lost before is reported already
            self._progress_saved, self.trouble = self.schedule.progress, ""
        self.loaded.emit(states)

    def _on_saved(self, number: int, kept: bool) -> None:
        if number == self._before_finish and kept:
            self.can_undo_finish = True
        elif number == self._before_finish or kept:  # it is not on disk, or its finish was cancelled meanwhile
            self._forget_before_finish()
        self.saved_at, self.any_saved, self.trouble = time.time(), True, ""
        self._saving = False
        log.info("checkpoint %d", number)
        self.saved.emit(number)

    def _refuse(self, sentence: str, done: str, number: int) -> None:
        """Report a failure, with the checkpoint in the sentence: those of unexpected errors do not mention it."""
        self._saving = False
        if number and number == self._before_finish:
            self._forget_before_finish()
        if "checkpoint" not in sentence:
            sentence = f"The checkpoint could not be {done}: {sentence.rstrip('.')}."
        if number:
            self.trouble = sentence
            self.retry_timer.start()
        self.refused.emit(sentence, number)

    def close(self) -> None:
        """End the thread; block until all tasks are done."""
        self.retry_timer.stop()
        self.disk.close()
