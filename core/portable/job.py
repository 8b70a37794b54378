"""The job that exports ONNX files for the window, in a child process."""

from collections.abc import Iterator
from pathlib import Path

from core.events import Event
from core.jobs.service import Service
from core.portable.export import export_onnx
from core.service_events import PortableMade, PortableRequested


class PortableJob(Service[PortableRequested]):
    """Answers each PortableRequested with a PortableMade."""

    name, requests = "portable", PortableRequested

    def answer(self, request: PortableRequested) -> Iterator[Event | None]:
        made = export_onnx(Path(request.folder), Path(request.target))
        yield PortableMade(tuple(map(str, made.paths)), made.note)
