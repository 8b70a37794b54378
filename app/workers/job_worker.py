"""Threads that supervise child processes. They add no logic: a child's events become Qt signals."""

import contextlib
import logging
import threading
import traceback
from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtCore import QObject, QThread, Signal

from core.errors import UserError, lack, summary
from core.events import Event, Failed, JobSpec, Logged
from core.system.child_process import ChildDiedError, log_from_child

log = logging.getLogger(__name__)
_POLL_SECONDS = 0.05
"""Time that the worker blocks in its pipe before it checks whether it was cancelled."""
_PATIENCE_SECONDS = 0.5
"""A cancelled worker that has not ended by then is blocked, by half a message or by another child that reads nothing."""


class Message(Protocol):
    """An event from a child, not decoded yet: core.system.shared_memory.Envelope, or a test's stand-in."""

    @property
    def kind(self) -> type[Any]: ...
    def decode(self) -> Any: ...
    def close(self) -> None: ...


class Process(Protocol):
    """A job in a child process: core.system.child_process.JobProcess, or a test's stand-in."""

    def start(self) -> None: ...
    def send(self, message: Event) -> None: ...
    def forward(self, envelope: Any) -> None: ...
    def receive(self, timeout: float) -> Message | None: ...
    def stop(self, grace: float = ...) -> None: ...
    def kill(self) -> None: ...


MakeProcess = Callable[[JobSpec], Process]


class JobWorker(QThread):
    """Starts a child process, receives its events, and stops it.

    Signals:
        event_arrived(object): an event of the child that the window wants.
        finished_with(str, str): the child has ended; its name and 'stopped', 'failed' or 'died'. Exactly once, last.
    """

    event_arrived = Signal(object)
    finished_with = Signal(str, str)

    def __init__(
        self,
        name: str,
        process: Process,
        relay: Callable[[Message], bool],
        parent: QObject | None = None,
        first: Event | None = None,
    ) -> None:
        """relay: called in this thread with each event; forwards it and returns whether the window wants it
        first: sent to the child once it has started
        """
        super().__init__(parent)
        self._first = first
        self.name = name
        self._process, self._relay = process, relay
        self._cancelled = threading.Event()
        self._last_resort = threading.Timer(_PATIENCE_SECONDS, process.kill)
        self._last_resort.daemon = True
        self._error: Exception | None = None

    def fail(self, error: Exception) -> None:
        """End the child as if it had failed with this error, because it can't be sent something. From any thread."""
        self._error = error

    def cancel(self) -> None:
        """Ask for the end; finished_with follows, whatever the child does."""
        if not self._cancelled.is_set():
            self._cancelled.set()
            self._last_resort.start()

    def run(self) -> None:
        reason = "failed"
        try:
            reason = self._supervise()
        except ChildDiedError as error:
            reason = "stopped" if self._cancelled.is_set() else "died"
            log.log(logging.WARNING if reason == "died" else logging.DEBUG, "Child ended: %s.", error)
        except Exception as error:  # the boundary of the thread: everything is reported, nothing is lost
            log.warning("The %s stage can't continue.", self.name, exc_info=True)
            self.event_arrived.emit(Failed(self.name, summary(error), traceback.format_exc(), lack(error)))
        self._last_resort.cancel()
        try:
            self._process.stop()
        finally:
            self.finished_with.emit(self.name, reason)

    def _supervise(self) -> str:
        self._process.start()
        if self._first is not None:
            self._process.send(self._first)
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
                    self.event_arrived.emit(message.decode())
                if issubclass(message.kind, Failed):
                    return "failed"
        return "stopped"


class RunningJob(QObject):
    """A job that a part of the window runs by itself, in addition to the session's four. Made by `run_job`.

    Signals:
        event_arrived(object): an event of the child; a Failed has been logged by then.
        ended(str): the child has ended: 'stopped', 'failed' or 'died'. Exactly once, last.
    """

    event_arrived = Signal(object)
    ended = Signal(str)

    def __init__(self, process: Process, worker: JobWorker, parent: QObject) -> None:
        super().__init__(parent)
        self._process, self._worker = process, worker
        worker.event_arrived.connect(self._on_event_arrived)
        worker.finished_with.connect(self._on_finished)

    def send(self, event: Event) -> None:
        """Send the child an event. It is dropped if the child has ended; `ended` follows then."""
        with contextlib.suppress(ChildDiedError):
            self._process.send(event)

    def cancel(self) -> None:
        """Ask for the end; `ended` follows."""
        self._worker.cancel()

    def close(self) -> None:
        """Ask for the end and block until the child has ended; `ended` follows."""
        self._worker.cancel()
        self._worker.wait()

    def _on_event_arrived(self, event: Event) -> None:
        if isinstance(event, Failed):
            log.error("The %s stage failed: %s\n%s", event.job, event.summary, event.text)
        self.event_arrived.emit(event)

    def _on_finished(self, name: str, reason: str) -> None:
        self._worker.wait()  # its run() has nothing left to do
        self._worker.deleteLater()
        self.ended.emit(reason)
        self.deleteLater()


def run_job(
    make_process: MakeProcess,
    spec: JobSpec,
    on_event: Callable[[Any], None],
    on_end: Callable[[str], None],
    parent: QObject,
    first: Event | None = None,
) -> RunningJob:
    """Start a job in a child process.

    on_event, on_end: methods of a QObject, connected to the job's signals
    first: sent to the child once it has started

    Raises UserError, with the system's reason as its text, if the child can't be made.
    """
    try:
        process = make_process(spec)
    except Exception as error:  # usually too many open files
        log.exception("The %s process can't be started.", spec.name)
        raise UserError(summary(error).rstrip(".")) from error
    worker = JobWorker(spec.name, process, lambda message: True, parent, first)
    job = RunningJob(process, worker, parent)
    job.event_arrived.connect(on_event)
    job.ended.connect(on_end)
    worker.start()
    return job
