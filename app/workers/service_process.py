"""Child process that serves one part of the window: films, previews, votes and others."""

import logging
from collections.abc import Callable

from PySide6.QtCore import QObject

from app.workers.job_worker import JobWorker, MakeProcess
from core.errors import UserError, summary
from core.events import Event, Failed, JobSpec

log = logging.getLogger(__name__)


class ServiceProcess(QObject):
    """Starts and ends the process, and passes its events on, in the window's thread. It can be started again."""

    def __init__(
        self,
        make_process: MakeProcess,
        on_event: Callable[[Event], object],
        on_end: Callable[[str, str], object],
        parent: QObject,
    ) -> None:
        """on_event: called with each event of the process but Failed
        on_end: called once when the process has ended, with 'stopped', 'failed' or 'died', and with the reason of a failure
            without a full stop, or ''
        """
        super().__init__(parent)
        self._make_process, self._tell, self._tell_end = make_process, on_event, on_end
        self._worker: JobWorker | None = None
        self._failure = ""

    @property
    def runs(self) -> bool:
        return self._worker is not None

    def start(self, spec: JobSpec) -> None:
        """Start the process, unless it runs. Raises UserError, with the reason as its text, if that is impossible."""
        if self._worker is not None:
            return
        try:
            process = self._make_process(spec)
        except Exception as error:  # usually too many open files
            log.exception("The %s process can't be started.", spec.name)
            raise UserError(summary(error).rstrip(".")) from error
        self._worker = JobWorker(spec.name, process, parent=self)
        self._worker.event_arrived.connect(self._on_event)
        self._worker.finished_with.connect(self._on_end)
        self._worker.start()

    def send(self, event: Event) -> None:
        """Send the process an event; does nothing if it does not run."""
        if self._worker is not None:
            self._worker.send(event)

    def cancel(self) -> None:
        """Ask the process to end, if it runs; `on_end` follows."""
        if self._worker is not None:
            self._worker.cancel()

    def close(self) -> None:
        """Ask the process to end, and block until it has."""
        if self._worker is not None:
            self._worker.close()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Failed):
            self._failure = event.summary.rstrip(".")
        else:
            self._tell(event)

    def _on_end(self, name: str, reason: str) -> None:
        self._worker = None
        failure, self._failure = self._failure, ""
        self._tell_end(reason, failure)
