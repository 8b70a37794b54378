"""Checkpoints: asks the jobs for their states, and saves them and the curves together once all have answered.

When a job fails, the others are asked at once: what they have learned since the last checkpoint is kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.workers.background_thread import BackgroundThread
from app.workers.job_group import TOGETHER, JobGroup
from core.events import JobState, StateRequested, StateSaved
from core.metrics import Metrics
from core.session import metrics_file
from core.session.routing import JOBS
from core.session.session import Session

log = logging.getLogger(__name__)
_EVERY_MS = 60_000
_LOAD, _SAVE, _ERRAND = "load", "save ", "errand"


class Checkpointer(QObject):
    """Saves every minute and when asked; loads at the start and for a restart.

    Signals:
        loaded(object): the newest states by job's name; empty where there are none.
        saved(int): the checkpoint of this number is on disk.
        refused(str, int): loading failed, or saving; one sentence, and the number that was to be saved or 0.
        damage_found(str): the newest checkpoint was damaged and gave way to the one before; one sentence.
        errand_ended(str): what `run` was given is done, or could not be; one sentence.
    """

    loaded = Signal(object)
    saved = Signal(int)
    refused = Signal(str, int)
    damage_found = Signal(str)
    errand_ended = Signal(str)

    def __init__(self, session: Session, crew: JobGroup, metrics: Metrics, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._crew, self._metrics = session, crew, metrics
        self._number = 0
        self._asked: set[str] = set()
        self._states: dict[str, JobState] = {}
        self._any_saved = self._curves_read = False
        self.saved_at: float | None = None
        self.disk = self._disk = BackgroundThread(self)
        """For whoever else has to do with the session's files: one after the other."""
        self._disk.task_done.connect(self._on_done)
        self._disk.task_refused.connect(self._on_refused)
        self._disk.start()
        self._errands, self._under_way = BackgroundThread(self), 0
        self._errands.task_done.connect(lambda _, told: self._on_errand_ended(told))
        self._errands.task_refused.connect(lambda _, told: self._on_errand_ended(told))
        self._errands.start()
        self._timer = QTimer(self, interval=_EVERY_MS)
        self._timer.timeout.connect(self.request)

    def load(self) -> None:
        self._disk.do(self._load, _LOAD)

    def _load(self) -> tuple[int, dict[str, JobState]] | None:
        """In the disk's thread. The curves too, but once: later this run has the better ones."""
        if not self._curves_read:
            self._curves_read = True
            metrics_file.load(self._session.folder, self._metrics)
        return self._session.load(self.damage_found.emit)

    def keep_saving(self, on: bool) -> None:
        """Whether a checkpoint is taken every minute."""
        if on:
            self._timer.start()
        else:
            self._timer.stop()

    def request(self, lost: Collection[str] = ()) -> int:
        """Asks for a checkpoint; of a job that has failed, and what goes back with it, the last saved state stays.

        lost: jobs that still run and whose states are worth nothing

        Its number; 0 where nobody is left to ask, or a job has failed before anything was saved.
        """
        missing = set(JOBS) - set(self._crew.running) | set(JOBS) & set(lost)
        asked = set(JOBS) - {name for job in missing for name in TOGETHER[job]}
        if not asked or missing and not self._any_saved:
            return 0
        self._number += 1
        self._asked, self._states = asked, {}
        self._crew.send(StateRequested(self._number), asked)
        return self._number

    def take(self, event: StateSaved) -> None:
        """Takes a job's answer in; an answer to an older request comes too late and is dropped."""
        if event.number != self._number:
            return
        self._states[event.job] = event.state
        if set(self._states) == self._asked:
            number, states = self._number, self._states
            self._states = {}
            self._disk.do(lambda: self._save(number, states), f"{_SAVE}{number}")

    def _save(self, number: int, states: dict[str, JobState]) -> None:
        """In the disk's thread."""
        before = self._session.load() if set(states) != set(JOBS) else None
        self._session.save(number, {**(before[1] if before else {}), **states})
        metrics_file.save(self._session.folder, self._metrics)

    def run(self, errand: Callable[[], None], done: str) -> None:
        """Does something else with the session's files, in a thread of its own: the last checkpoint must not wait for
        an export. `errand_ended` then tells `done`.
        """

        def carry_out() -> str:
            errand()
            return done

        self._under_way += 1
        self._errands.do(carry_out, _ERRAND)

    @property
    def runs_errands(self) -> bool:
        return self._under_way > 0

    def _on_errand_ended(self, told: str) -> None:
        self._under_way -= 1
        self.errand_ended.emit(told)

    def _on_done(self, name: str, result: Any) -> None:
        if name == _LOAD:
            self._on_loaded(*(result or (0, {})))
        elif name.startswith(_SAVE):
            number = int(name.removeprefix(_SAVE))
            self.saved_at, self._any_saved = time.time(), True
            log.info("checkpoint %d", number)
            self.saved.emit(number)

    def _on_loaded(self, number: int, states: dict[str, JobState]) -> None:
        self._number = max(self._number, number)
        self._any_saved = number > 0
        self.loaded.emit(states)

    def _on_refused(self, name: str, sentence: str) -> None:
        if name == _LOAD:
            self.refused.emit(_told(sentence, "loaded"), 0)
        elif name.startswith(_SAVE):
            self.refused.emit(_told(sentence, "saved"), int(name.removeprefix(_SAVE)))

    def close(self) -> None:
        """Blocks until all is done; of errands there is none left then, if the session was stopped."""
        self._timer.stop()
        for thread in (self._errands, self._disk):
            thread.end()
            thread.wait()


def _told(sentence: str, done: str) -> str:
    """What was not foreseen says only what, not of what."""
    return sentence if "checkpoint" in sentence else f"The checkpoint could not be {done}: {sentence.rstrip('.')}."
