"""Films of a session, made by a child process of their own, one at a time. No widgets."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.workers.job_worker import JobWorker, MakeProcess
from core.config import Config
from core.errors import summary
from core.events import Event, Failed, FilmMade, FilmProgressed, FilmRequested
from core.io import files
from core.system.child_process import JobSpec

log = logging.getLogger(__name__)


class FilmExport(QObject):
    """Starts a child for each film, tells how far it is, and ends it.

    Signals:
        film_progressed(float): this share of it is made, from 0 to 1.
        film_ended(str): it is written, given up, or could not be made; one sentence.
        film_refused(str): none is begun; one sentence.
    """

    film_progressed = Signal(float)
    film_ended = Signal(str)
    film_refused = Signal(str)

    def __init__(self, folder: Path, config: Config, make_process: MakeProcess, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder, self._config, self._make_process = folder, config, make_process
        self._worker: JobWorker | None = None
        self._target = Path()
        self._outcome = ""

    def make(self, target: Path, before_after: bool = False) -> None:
        """film_ended answers, exactly once, or film_refused."""
        if self._worker is not None:
            self.film_refused.emit("A film is being made already: wait for it, or cancel it.")
            return
        target = target if target.suffix else target.with_suffix(".mp4")
        self._target, self._outcome = target, ""
        try:
            process = self._make_process(JobSpec("film", self._config.to_dict()))
        except Exception as error:  # too many open files, above all
            log.exception("A film can't be begun.")
            self.film_refused.emit(f"The film could not be made: {summary(error).rstrip('.')}.")
            return
        request = FilmRequested(str(self._folder), str(target), before_after)
        self._worker = JobWorker("film", process, lambda event: True, self, first=request)
        self._worker.event_arrived.connect(self._on_event)
        self._worker.finished_with.connect(self._on_finished)
        self.film_progressed.emit(0.0)
        self._worker.start()

    def make_before_after(self, target: Path) -> None:
        self.make(target, before_after=True)

    def cancel(self) -> None:
        if self._worker is not None:
            self._outcome = self._outcome or "The film was given up; nothing is left of it."
            self._worker.cancel()

    def close(self) -> None:
        """Gives up what is being made, and waits for its child to end."""
        if self._worker is not None:
            self._worker.cancel()
            self._worker.wait()
            self._clear_away()

    def _on_event(self, event: Event) -> None:
        match event:
            case FilmProgressed(share):
                self.film_progressed.emit(share)
            case FilmMade(target, note):
                self._outcome = " ".join(part for part in (f"{Path(target).name} is written.", note) if part)
                self.cancel()
            case Failed():
                log.error("The %s stage failed: %s\n%s", event.job, event.summary, event.text)
                self._outcome = f"The film could not be made: {event.summary.rstrip('.')}."

    def _on_finished(self, name: str, reason: str) -> None:
        assert self._worker is not None
        self._worker.wait()  # its run() has nothing left to do
        self._worker.deleteLater()
        self._worker = None
        self._clear_away()
        self.film_ended.emit(self._outcome or "The film could not be made: its process ended unexpectedly; try again.")

    def _clear_away(self) -> None:
        """A child that was ended by force can't do it itself."""
        files.clear_away(self._target.with_name(f"{self._target.name}.part"))
