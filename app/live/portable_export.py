"""Export of ONNX files: one at a time, made by a child process. No widgets."""

from pathlib import Path

from PySide6.QtCore import Signal

from app.live.child_export import ChildExport
from core.events import Event, JobSpec
from core.service_events import PortableMade, PortableRequested


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
            case PortableMade(target, difference, note):
                same = f"their outputs differ from this program's by at most {difference:.0e}"
                parts = f"Saved {Path(target).name} with contract.json in {Path(target).parent}; {same}.", note
                self.done = " ".join(part for part in parts if part)
                self.cancel()
