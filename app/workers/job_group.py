"""The session's child processes and their supervisors: started, paused, stopped and restarted together. No widgets."""

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.workers.background_thread import BackgroundThread
from app.workers.job_worker import JobWorker, MakeProcess
from core.config import Config
from core.events import Event, JobSpec, JobState, Paused
from core.jobs.job_process import JobProcess
from core.session.routing import DRIVER, JOBS, Port, receivers
from core.system.shared_memory import Envelope

JOB_NAMES = (*JOBS, "clips")
TOGETHER = {
    "rollout": ("rollout", "policy"),
    "policy": ("rollout", "policy"),
    "reward": ("reward",),
    "clips": ("clips",),
}
"""The jobs that return to a checkpoint together with a job: rollout and policy count each other's batches."""


class JobGroup(QObject):
    """The four child processes of a session, each with its worker.

    config: the configuration of children that are started from now on

    Signals:
        event_arrived(object): an event of a child, addressed to the window.
        job_ended(str, str): a child has ended; its name, and 'stopped' on request, else 'failed' or 'died'.
        dismissed(): the last child has ended.
    """

    event_arrived = Signal(object)
    job_ended = Signal(str, str)
    dismissed = Signal()

    def __init__(self, make_process: MakeProcess, config: Config, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.ports: dict[str, Port] = {}
        """The receivers of events: the children, and other parts of the session (core.session.routing.SNAPSHOTS)."""
        self.make_process, self.config = make_process, config
        self._workers: dict[str, JobWorker] = {}
        self._senders = {name: BackgroundThread(self) for name in JOB_NAMES}

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self._workers)

    def start(self, names: Iterable[str], states: Mapping[str, JobState]) -> None:
        """Start these children, none of which may be running. All ports exist before the first worker runs.

        If one of them can't be made, none is started, and the exception is raised.
        """
        processes: dict[str, JobProcess] = {}
        try:
            for name in names:
                processes[name] = self.make_process(JobSpec(name, self.config.to_dict(), states.get(name)))
        except Exception:
            for process in processes.values():
                process.stop()
            raise
        for name, process in processes.items():
            worker = self.ports[name] = self._workers[name] = JobWorker(name, process, self._relay, self)
            worker.event_arrived.connect(self.event_arrived)
            worker.finished_with.connect(self._on_finished)
        for name in processes:
            self._workers[name].start()

    def _relay(self, message: Envelope) -> bool:
        """Forward a child's event to its receivers, and return True if the window is one. Called in workers' threads."""
        names = receivers(message.kind)
        for name in names:
            port = self.ports.get(name)
            if isinstance(port, JobWorker):
                port.send(message)  # not decoded
            elif port is not None:
                port.send(message.decode())
        return DRIVER in names

    def send(self, event: Event, names: Iterable[str] | None = None) -> None:
        """Send an event of the window to the jobs that receive it, or to the named ones.

        Each job has a thread for that: pickling takes time, and one child's pipe may be full.
        """
        for name in receivers(type(event)) if names is None else names:
            if name in self._workers:
                self._senders[name].do(partial(self.ports[name].send, event))

    def pause(self, on: bool) -> None:
        """Pause or resume all but "clips": pairs offered already can still be watched."""
        self.send(Paused(on), JOBS)

    def dismiss(self, names: Iterable[str] = JOB_NAMES) -> None:
        """Ask these children to end; `dismissed` follows when no child is left."""
        for name in names:
            if name in self._workers:
                self._workers[name].cancel()
        if not self._workers:
            self.dismissed.emit()

    def close(self) -> None:
        """End the group's threads. Call it after `dismissed`."""
        for sender in self._senders.values():
            sender.close()

    def _on_finished(self, name: str, reason: str) -> None:
        del self._workers[name]
        self.job_ended.emit(name, reason)
        if not self._workers:
            self.dismissed.emit()
