"""Film export: one film of a session at a time, made by a child process. No widgets."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.workers.job_worker import JobWorker, MakeProcess, run_job
from core.config import Config
from core.errors import UserError
from core.events import Event, Failed, JobSpec
from core.io import files
from core.service_events import FilmMade, FilmProgressed, FilmRequested

_DIED = "The film could not be made: its process ended unexpectedly; try again."


class FilmExport(QObject):
    """Starts a child process for each film, reports its progress, and ends it.

    Signals:
        film_progressed(float): the share of the film that is made, from 0 to 1.
        film_made(str): the film is written; one sentence.
        film_failed(str): the film was cancelled or could not be made; one sentence.
        film_refused(str): no film is started; one sentence.
    """

    film_progressed = Signal(float)
    film_made = Signal(str)
    film_failed = Signal(str)
    film_refused = Signal(str)

    def __init__(self, folder: Path, config: Config, make_process: MakeProcess, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder, self._config, self._make_process = folder, config, make_process
        self._job: JobWorker | None = None
        self._target = Path()
        self._made, self._outcome = "", ""
        self.abandoned = ""
        """Sentence about the film that was being made when the session was closed; '' if there was none."""

    def make(self, target: Path, before_after: bool = False, talk: bool = False) -> None:
        """Start a film. Exactly one of film_made, film_failed and film_refused follows."""
        if self._job is not None:
            self.film_refused.emit("Another film is being made: wait for it, or cancel it.")
            return
        self._target, self._outcome = target, ""
        self._made = ""
        request = FilmRequested(str(self._folder), str(self._target), before_after, 1080 if talk else 720)
        spec = JobSpec("talk" if talk else "film", self._config.to_dict())
        try:
            self._job = run_job(self._make_process, spec, self._on_event, self._on_end, self)
        except UserError as error:
            self.film_refused.emit(f"The film could not be made: {error}.")
            return
        self._job.send(request)
        self.film_progressed.emit(0.0)

    def cancel(self) -> None:
        """Cancel the film that is being made, if any; film_failed follows."""
        if self._job is not None:
            self._outcome = self._outcome or "Cancelled the film and removed its file."
            self._job.cancel()

    def close(self) -> None:
        """Cancel the film that is being made, and wait for its process to end."""
        if self._job is not None:
            self.abandoned = f"{self._target.name} was not made because the session was closed: make it again."
            self._job.close()
            self._remove_part()

    def _on_event(self, event: Event) -> None:
        match event:
            case FilmProgressed(share):
                self.film_progressed.emit(share)
            case FilmMade():
                self._made = event.summary
                self.cancel()
            case Failed():
                self._outcome = f"The film could not be made: {event.summary.rstrip('.')}."

    def _on_end(self, name: str, reason: str) -> None:
        self._job = None
        self._remove_part()
        if self._made:
            self.film_made.emit(self._made)
        else:
            self.film_failed.emit(self._outcome or _DIED)

    def _remove_part(self) -> None:
        """Remove the half-written file of a killed child."""
        files.clear_away(self._target.with_name(f"{self._target.name}.part"))
