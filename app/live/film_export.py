"""Film export: one film of a session at a time, made by a child process. No widgets."""

from pathlib import Path

from PySide6.QtCore import Signal

from app.live.child_export import ChildExport
from core.events import Event, JobSpec
from core.service_events import FilmMade, FilmProgressed, FilmRequested


class FilmExport(ChildExport):
    """Starts a child process for each film, reports its progress, and ends it.

    Signals:
        progressed(float): the share of the film that is made, from 0 to 1.
    """

    progressed = Signal(float)

    def make(self, target: Path, before_after: bool = False, talk: bool = False) -> None:
        """Start a film. Exactly one of `made`, `failed` and `refused` follows."""
        request = FilmRequested(str(self.folder), str(target), before_after, 1080 if talk else 720)
        if self.start(JobSpec("talk" if talk else "film", self.config.to_dict()), request, target):
            self.progressed.emit(0.0)

    def cancel(self) -> None:
        """Cancel the film that is being made, if any; `failed` follows."""
        if self.unfinished is not None:
            self.outcome = self.outcome or "Cancelled the film and removed its file."
        super().cancel()

    def on_event(self, event: Event) -> None:
        match event:
            case FilmProgressed(share):
                self.progressed.emit(share)
            case FilmMade():
                self.done = event.summary
                super().cancel()
