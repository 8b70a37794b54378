"""Exports written by a child process: films and ONNX files. No widgets."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.workers.file_tasks import saved_sentence
from app.workers.job_worker import MakeProcess
from app.workers.service_process import ServiceProcess
from core.config import Config
from core.errors import UserError
from core.events import Event, JobSpec
from core.io import files
from core.service_events import (
    FILM_HEIGHT,
    TALK_HEIGHT,
    FilmMade,
    FilmProgressed,
    FilmRequested,
    PortableMade,
    PortableRequested,
)


class ChildExport(QObject):
    """Starts a child process for each export, one at a time, and ends it.

    abandoned: sentence about the export that was under way when the session was closed; '' if there was none

    Signals:
        made(str): the file is written; one or two sentences.
        failed(str): the export was cancelled or has failed; one sentence.
        refused(str): no export was started; one sentence.
    """

    made = Signal(str)
    failed = Signal(str)
    refused = Signal(str)

    def __init__(self, folder: Path, config: Config, make_process: MakeProcess, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder, self.config = folder, config
        self.cancelled, self.done = "", ""
        """Sentences about a cancelled export, and about one that is done; '' while there is none."""
        self.abandoned = ""
        self._process = ServiceProcess(make_process, self.on_event, self._on_end, self)
        self._target = Path()

    @property
    def unfinished(self) -> Path | None:
        """The file that is being written, or None."""
        return self._target if self._process.runs and not self.done else None

    def start(self, spec: JobSpec, request: Event, target: Path) -> bool:
        """Start a child that writes the file `target`, and return True; if that fails, emit `refused` and return False."""
        if self._process.runs:
            writing = self.unfinished is not None and not self.cancelled
            wait = f"{self._target.name} is still being written. Wait until it is finished."
            self.refused.emit(wait if writing else "The last export is just ending. Try again in a moment.")
            return False
        self._target, self.cancelled, self.done = target, "", ""
        try:
            self._process.start(spec)
        except UserError as error:
            self.refused.emit(f"{target.name} could not be written: {error}.")
            return False
        self._process.send(request)
        return True

    def cancel(self) -> None:
        """End the child, if there is one; `made` or `failed` follows."""
        self._process.cancel()

    def close(self) -> None:
        """Cancel the export that is under way, and wait for its process to end."""
        if self._process.runs:
            if not self.done:
                self.abandoned = f"{self._target.name} was not saved because the session was closed: export it again."
            self._process.close()
            self._remove_part()

    def on_event(self, event: Event) -> None:
        """Take an event of the child. Sets `done` when the file is written."""

    def _on_end(self, reason: str, failure: str) -> None:
        self._remove_part()
        if self.done:
            self.made.emit(self.done)
        else:
            why = f"{failure}." if failure else "its process ended unexpectedly; try again."
            self.failed.emit(self.cancelled or f"{self._target.name} could not be written: {why}")

    def _remove_part(self) -> None:
        """Remove the half-written file of a killed child."""
        files.clear_away(self._target.with_name(f"{self._target.name}.part"))


class FilmExport(ChildExport):
    """Starts a child process for each film, reports its progress, and ends it.

    Signals:
        progressed(float): share of the film that is done, from 0 to 1.
    """

    progressed = Signal(float)

    def make(self, target: Path, before_after: bool = False, talk: bool = False) -> None:
        """Start a film. Exactly one of `made`, `failed` and `refused` follows."""
        request = FilmRequested(str(self.folder), str(target), before_after, TALK_HEIGHT if talk else FILM_HEIGHT)
        if self.start(JobSpec("talk" if talk else "film", self.config.to_dict()), request, target):
            self.progressed.emit(0.0)

    def cancel(self) -> None:
        """Cancel the film that is being made, if any; `failed` follows."""
        if self.unfinished is not None:
            self.cancelled = self.cancelled or "Cancelled the film and removed its file."
        super().cancel()

    def on_event(self, event: Event) -> None:
        match event:
            case FilmProgressed(share):
                self.progressed.emit(share)
            case FilmMade(target, note):
                self.done = f"{saved_sentence(Path(target))} {note}".rstrip()
                super().cancel()


class PortableExport(ChildExport):
    """Starts a child process for each export, and ends it.

    Signals:
        begun(str): the files are being written; one sentence.
    """

    begun = Signal(str)

    def make(self, target: Path) -> None:
        """Export the newest checkpoint. Exactly one of `made`, `failed` and `refused` follows."""
        spec = JobSpec("portable", {})
        if self.start(spec, PortableRequested(str(self.folder), str(target)), target):
            self.begun.emit("Writing the ONNX files…")

    def on_event(self, event: Event) -> None:
        match event:
            case PortableMade(paths, note):
                self.done = f"{saved_sentence(*map(Path, paths))} {note}".rstrip()
                self.cancel()
