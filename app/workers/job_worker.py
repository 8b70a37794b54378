"""Threads that supervise child processes. They add no logic: a child's events become Qt signals."""

import contextlib
import logging
import threading
import traceback
from collections.abc import Callable

from PySide6.QtCore import QObject, QThread, Signal

from core.errors import ChildDiedError, lack, summary
from core.events import Event, Failed, JobSpec, Logged
from core.jobs.job_process import JobProcess
from core.system.child_process import log_from_child
from core.system.shared_memory import Envelope

log = logging.getLogger(__name__)
_POLL_SECONDS = 0.25
"""Time that the worker blocks in its pipe before it checks whether it was cancelled."""
_PATIENCE_SECONDS = 0.5
"""A cancelled worker that has not ended by then is blocked, by half a message or by another child that reads nothing."""


MakeProcess = Callable[[JobSpec], JobProcess]


class JobWorker(QThread):
    """Starts a child process, exchanges events with it, and stops it.

    Events for a child that is gone are dropped: the end is reported anyway. A child that can't be sent an event fails,
    or it would wait forever.

    Signals:
        event_arrived(object): an event of the child, addressed to the window; a Failed has been logged by then.
        finished_with(str, str): the child has ended; its name and 'stopped', 'failed' or 'died'. Exactly once, last.
    """

    event_arrived = Signal(object)
    finished_with = Signal(str, str)

    def __init__(
        self,
        name: str,
        process: JobProcess,
        relay: Callable[[Envelope], bool] = lambda message: True,
        parent: QObject | None = None,
    ) -> None:
        """relay: called in this thread with each event; forwards it, and returns True if the window is to get it"""
        super().__init__(parent)
        self.name = name
        self._process, self._relay = process, relay
        self._cancelled = threading.Event()
        self._last_resort = threading.Timer(_PATIENCE_SECONDS, process.kill)
        self._last_resort.daemon = True
        self._error: Exception | None = None
        self.finished_with.connect(self._on_finished)

    def send(self, message: Event | Envelope) -> None:
        """Send the child an event, from any thread; one of another child is passed on without being decoded."""
        try:
            self._process.send(message)
        except ChildDiedError:
            return
        except Exception as error:  # usually no memory for the arrays
            self._error = error

    def cancel(self) -> None:
        """Ask for the end; finished_with follows in any case."""
        if not self._cancelled.is_set():
            self._cancelled.set()
            self._last_resort.start()

    def close(self) -> None:
        """Ask for the end and block until the child has ended; finished_with follows."""
        self.cancel()
        self.wait()

    def run(self) -> None:
        reason = "failed"
        try:
            reason = self._supervise()
        except ChildDiedError as error:
            reason = "stopped" if self._cancelled.is_set() else "died"
            log.log(logging.WARNING if reason == "died" else logging.DEBUG, "Child ended: %s.", error)
        except Exception as error:  # the boundary of the thread: everything is reported, nothing is lost
            log.error("The %s stage can't continue.", self.name, exc_info=True)
            self.event_arrived.emit(Failed(self.name, summary(error), traceback.format_exc(), lack(error)))
        self._last_resort.cancel()
        try:
            self._process.stop()
        finally:
            self.finished_with.emit(self.name, reason)

    def _supervise(self) -> str:
        self._process.start()
        while not self._cancelled.is_set():
            if self._error:
                raise self._error
            message = self._process.receive(_POLL_SECONDS)
            if message is None:
                continue
            with contextlib.closing(message):
                if issubclass(message.kind, Logged):
                    log_from_child(message.decode())
                elif self._relay(message):
                    event = message.decode()
                    if isinstance(event, Failed):
                        log.error("The %s stage failed: %s\n%s", self.name, event.summary, event.text)
                    self.event_arrived.emit(event)
                if issubclass(message.kind, Failed):
                    return "failed"
        return "stopped"

    def _on_finished(self) -> None:
        self.wait()  # its run() has nothing left to do
        self.deleteLater()
