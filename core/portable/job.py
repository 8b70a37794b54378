"""The job that exports ONNX files for the window, in a child process."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path

from core.events import Event, Job, Waited
from core.portable.export import export_onnx
from core.service_events import PortableMade, PortableRequested


class PortableJob(Job):
    """Answers each PortableRequested with a PortableMade."""

    def __init__(self) -> None:
        self._requests: deque[PortableRequested] = deque()

    def receive(self, event: Event) -> None:
        if isinstance(event, PortableRequested):
            self._requests.append(event)

    def run(self) -> Iterator[Event | None]:
        while True:
            if not self._requests:
                yield Waited("portable", "nothing to export")
                continue
            request = self._requests.popleft()
            made = export_onnx(Path(request.folder), Path(request.target))
            yield PortableMade(str(made.paths[0]), max(made.differences.values()), made.note)
