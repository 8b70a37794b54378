"""Export of ONNX files: one at a time, made by a child process. No widgets."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.workers.job_worker import JobWorker, MakeProcess, run_job
from core.config import Config
from core.errors import UserError
from core.events import Event, Failed, JobSpec
from core.service_events import PortableMade, PortableRequested


class PortableExport(QObject):
    """Starts a child process for each export, and ends it.

    Signals:
        export_begun(str): the files are being written; one sentence.
        export_made(str): the files are written; one or two sentences.
        export_failed(str): they could not be made; one sentence.
    """

    export_begun = Signal(str)
    export_made = Signal(str)
    export_failed = Signal(str)

    def __init__(self, folder: Path, config: Config, make_process: MakeProcess, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder, self._config, self._make_process = folder, config, make_process
        self._job: JobWorker | None = None
        self._made, self._outcome = "", ""
        self.abandoned = ""
        """Sentence about the export that was under way when the session was closed; '' if there was none."""

    def make(self, target: Path) -> None:
        """Export the newest checkpoint. One export_made or export_failed follows."""
        if self._job is not None:
            self.export_failed.emit("ONNX files are being written already: wait for them.")
            return
        self._made, self._outcome = "", ""
        spec = JobSpec("portable", self._config.to_dict(), builder="core.portable")
        try:
            self._job = run_job(self._make_process, spec, self._on_event, self._on_end, self)
        except UserError as error:
            self.export_failed.emit(f"The ONNX files could not be made: {error}.")
            return
        self._job.send(PortableRequested(str(self._folder), str(target)))
        self.export_begun.emit("Writing the ONNX files…")

    def close(self) -> None:
        """End the export that is being made, and wait for its process to end."""
        if self._job is not None:
            self.abandoned = "The ONNX files were not made because the session was closed: export them again."
            self._job.close()

    def _on_event(self, event: Event) -> None:
        match event:
            case PortableMade(target, difference, note):
                same = f"their outputs differ from this program's by at most {difference:.0e}"
                parts = f"Saved {Path(target).name} with contract.json in {Path(target).parent}; {same}.", note
                self._made = " ".join(part for part in parts if part)
                if self._job is not None:
                    self._job.cancel()
            case Failed():
                self._outcome = event.summary.rstrip(".") + "."

    def _on_end(self, name: str, reason: str) -> None:
        self._job = None
        if self._made:
            self.export_made.emit(self._made)
        else:
            self.export_failed.emit(self._outcome or "The ONNX files could not be made: try again.")
