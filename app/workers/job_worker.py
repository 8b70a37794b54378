"""A QThread that supervises one child job. It adds no logic of its own: the engine's events go on as one signal."""

from __future__ import annotations

import logging
import signal
import threading
import traceback
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, QThread, Signal

from core.errors import lack, summary
from core.events import Event, Failed, Logged
from core.system.child_process import JobDiedError, JobSpec

log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.05
"""How long the worker blocks in its pipe before it looks whether it was cancelled."""
_PATIENCE_SECONDS = 0.5
"""A worker that has not noticed by then is held up: by half an event, or by another child that does not read."""


class Process(Protocol):
    """A job in a child process: core.system.child_process.JobProcess, or a test's stand-in."""

    def start(self) -> None: ...
    def send(self, event: Event) -> None: ...
    def receive(self, timeout: float) -> Event | None: ...
    def stop(self, grace: float = ...) -> None: ...
    def kill(self) -> None: ...


MakeProcess = Callable[[JobSpec], Process]


class JobWorker(QThread):
    """Starts a child, takes its events in, and stops it.

    `relay` hands an event to the other children, in this thread, and says whether the window wants it too.

    Signals:
        event_arrived(object): the child yielded an event that the window wants.
        finished_with(str, str): the child has ended; its name and 'stopped', 'failed' or 'died'. Exactly once, last.
    """

    event_arrived = Signal(object)
    finished_with = Signal(str, str)

    def __init__(
        self,
        name: str,
        process: Process,
        relay: Callable[[Event], bool],
        parent: QObject | None = None,
        first: Event | None = None,
    ) -> None:
        """first: what the child is sent once it has started."""
        super().__init__(parent)
        self._first = first
        self.name = name
        self._process, self._relay = process, relay
        self._cancelled = threading.Event()
        self._last_resort = threading.Timer(_PATIENCE_SECONDS, process.kill)
        self._last_resort.daemon = True
        self._error: Exception | None = None

    def fail(self, error: Exception) -> None:
        """From any thread: the child could not be given something; it ends as if it had failed at that."""
        self._error = error

    def cancel(self) -> None:
        """Asks for the end; finished_with answers, whatever the child does."""
        if not self._cancelled.is_set():
            self._cancelled.set()
            self._last_resort.start()

    def run(self) -> None:
        reason = "failed"
        try:
            reason = self._supervise()
        except JobDiedError as error:
            reason = "stopped" if self._cancelled.is_set() else "died"
            log.log(logging.WARNING if reason == "died" else logging.DEBUG, "The %s process: %s.", self.name, error)
        except Exception as error:  # the boundary of the thread: everything is reported, nothing is lost
            log.warning("The %s stage can't go on.", self.name, exc_info=True)
            self.event_arrived.emit(Failed(self.name, summary(error), traceback.format_exc(), lack(error)))
        self._last_resort.cancel()
        try:
            self._process.stop()
        finally:
            self.finished_with.emit(self.name, reason)

    def _supervise(self) -> str:
        _keep_interrupts_from_children()
        self._process.start()
        if self._first is not None:
            self._process.send(self._first)
        while not self._cancelled.is_set():
            if self._error:
                raise self._error
            event = self._process.receive(_LOOK_SECONDS)
            if isinstance(event, Logged):
                logging.getLogger(f"core.jobs.{event.job}").log(event.level, "%s", event.text)
            elif event is not None and self._relay(event):
                self.event_arrived.emit(event)
            if isinstance(event, Failed):
                return "failed"
        return "stopped"


def _keep_interrupts_from_children() -> None:
    """Ctrl+C reaches the whole group of processes; the window alone answers it, so that a last checkpoint can be taken.

    A child inherits the signals that the thread which starts it has blocked. The resource tracker, which comes with
    the first child, unblocks them again in the thread that starts it: hence it is started before.
    """
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker  # not on Windows

        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
