"""A job of the window in a child process, with events in both directions at any time.

Large libraries are imported only when the child builds the job, since the window imports this module.
"""

import contextlib
import os
import queue
import threading
import time
from dataclasses import dataclass

from core.errors import ChildDiedError
from core.events import Event, Job, JobSpec, Paused, StateRequested, StateSaved, Waited
from core.jobs import KINDS, build
from core.system.child_process import ChildLink, ChildProcess
from core.system.link import Link, LinkEndedError
from core.system.resources import available_cores, release_memory

_IDLE_SECONDS = 0.5
"""Seconds that an idle job sleeps before it looks for work again, unless an event wakes it."""
_TRIM_SECONDS = 20.0
"""Seconds between two returns of freed memory to the system."""
_GRACE_SECONDS = 0.5
"""Seconds within which a child has to end after a request."""
_MANY_CORES = 6
"""Smallest number of cores with which a job may use more than one thread."""


class JobProcess(ChildProcess):
    """The child process of one job. Events may be sent to it before it has built the job."""

    def __init__(self, spec: JobSpec) -> None:
        kind = KINDS[spec.name]
        super().__init__(spec.name, _run_job, spec.name, nice=kind.nice, torch=kind.torch)
        self._spec: JobSpec | None = spec

    def start(self) -> None:
        """Start the process and send it the job. Raises ChildDiedError if the process ends immediately."""
        super().start()
        self.send(self._spec)  # other events may have been sent before it
        self._spec = None

    def stop(self) -> None:
        """Ask the child to end at its next boundary, and kill it after half a second. Safe to call twice."""
        if self._process.pid is not None:
            # In a thread of its own: a child that reads nothing, with a full pipe, blocks its writer until it is killed.
            asking = threading.Thread(target=self._ask_to_stop, daemon=True)
            asking.start()
            self._process.join(_GRACE_SECONDS)
        self.close()

    def _ask_to_stop(self) -> None:
        with contextlib.suppress(ChildDiedError):
            self.send(_Stop())


@dataclass(frozen=True)
class _Stop(Event):
    """End at the next boundary."""


def job_threads(job: str) -> int:
    """Return the number of threads that a job may use, so that a core is left for each other child and the window.

    Results do not depend on it (core.nn.threads).
    """
    return KINDS[job].threads if available_cores() >= _MANY_CORES else 1


def _run_job(link: ChildLink, name: str) -> None:
    """Build the job, which imports the heavy libraries, and run it until it is asked to stop."""
    inbox: queue.SimpleQueue[Event | Exception] = queue.SimpleQueue()
    while not isinstance(event := link.receive(), JobSpec):
        inbox.put(event)
    threading.Thread(target=_listen, args=(link, inbox), daemon=True).start()
    job: Job = build(event, job_threads(name), processes=True)
    trim_at = time.monotonic() + _TRIM_SECONDS
    for event in job.run():
        if time.monotonic() > trim_at:
            release_memory()
            trim_at = time.monotonic() + _TRIM_SECONDS
        link.send_log()
        if event is not None:
            link.send(event)
        if not _deliver_inbox(job, name, link, inbox, idle=isinstance(event, Waited)):
            return


def _listen(link: Link, inbox: queue.SimpleQueue[Event | Exception]) -> None:
    """Put received events into the inbox. When the parent closes the link, this process ends immediately.

    If a message can't be received or decoded, for example for lack of memory, the job fails instead of waiting forever.
    """
    while True:
        try:
            inbox.put(link.receive())
        except LinkEndedError:
            os._exit(0)
        except Exception as error:
            inbox.put(error)
            return


def _deliver_inbox(job: Job, name: str, link: Link, inbox: queue.SimpleQueue[Event | Exception], idle: bool) -> bool:
    """Deliver the waiting events to the job, and block while it is paused. Returns False if it is asked to stop."""
    paused = False
    deadline = time.monotonic() + (_IDLE_SECONDS if idle else 0)
    while True:
        try:
            left = None if paused else max(0.0, deadline - time.monotonic())
            event = inbox.get(timeout=left) if left is None or left > 0 else inbox.get_nowait()
        except queue.Empty:
            return True
        match event:
            case _Stop():
                return False
            case Exception():
                raise event
            case Paused(on):
                paused = on
            case StateRequested(number):
                link.send(StateSaved(name, number, job.get_state()))
            case _:
                job.receive(event)
        deadline = 0.0
