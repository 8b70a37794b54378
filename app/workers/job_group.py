"""The children and their supervisors: started, paused, stopped and started again together. No widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.workers.background_thread import BackgroundThread
from app.workers.job_worker import JobWorker, MakeProcess, Process
from core.events import (
    AnswersJudged,
    ClipsRendered,
    DemonstrationRecorded,
    Event,
    Failed,
    JobState,
    Paused,
    PolicyUpdated,
    QueryOffered,
    ReplayRefused,
    ReplayRendered,
    RewardFitted,
    RolloutReported,
    StateSaved,
    Waited,
)
from core.session.routing import JOBS, Port, deliver
from core.system.child_process import JobDiedError, JobSpec

JOB_NAMES = (*JOBS, "clips")
TOGETHER = {
    "rollout": ("rollout", "policy"),
    "policy": ("rollout", "policy"),
    "reward": ("reward",),
    "clips": ("clips",),
}
"""What goes back to a checkpoint with a job: rollout and policy count each other's batches."""
_FOR_WINDOW = (
    AnswersJudged,
    QueryOffered,
    RolloutReported,
    RewardFitted,
    PolicyUpdated,
    ClipsRendered,
    DemonstrationRecorded,
    ReplayRendered,
    ReplayRefused,
    Waited,
    Failed,
    StateSaved,
)
"""All else, above all batches and weights, goes from child to child and never through the window's thread."""


class JobPort:
    """Where other threads send a child its events. A child that is gone takes none; its worker tells of that.

    A child that can't be given what it needs would wait for ever: `fail` is told why, and ends it.
    """

    def __init__(self, process: Process, fail: Callable[[Exception], None]) -> None:
        self._process, self._fail = process, fail

    def send(self, event: Event) -> None:
        try:
            self._process.send(event)
        except JobDiedError:
            return
        except Exception as error:  # no room in the shared memory, above all
            self._fail(error)


class JobGroup(QObject):
    """The four children, each with its worker.

    Signals:
        event_arrived(object): a child yielded an event that concerns the window.
        job_ended(str, str): a child has ended; its name, and 'stopped', or unasked 'failed' or 'died'.
        dismissed(): the last child has ended.
    """

    event_arrived = Signal(object)
    job_ended = Signal(str, str)
    dismissed = Signal()

    def __init__(self, make_process: MakeProcess, config: dict[str, object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.ports: dict[str, Port] = {}
        """Of the children, and of who else takes part in the session without being one."""
        self.make_process, self._config = make_process, config
        self._workers: dict[str, JobWorker] = {}
        self._posts = {name: BackgroundThread(self) for name in JOB_NAMES}
        for post in self._posts.values():
            post.start()

    def configure(self, config: dict[str, object]) -> None:
        """What children that are started from now on are built by."""
        self._config = config

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self._workers)

    def start(self, names: Iterable[str], states: Mapping[str, JobState]) -> None:
        """Starts these children; none of them may be running. All ports exist before the first worker runs.

        Where one of them can't be made, none is started, and what that raised goes on.
        """
        processes = self._made({name: JobSpec(name, dict(self._config), states.get(name)) for name in names})
        for name, process in processes.items():
            self._workers[name] = self._worker(name, process)
            self.ports[name] = JobPort(process, self._workers[name].fail)
        for name in processes:
            self._workers[name].start()

    def _made(self, specs: Mapping[str, JobSpec]) -> dict[str, Process]:
        made: dict[str, Process] = {}
        try:
            for name, spec in specs.items():
                made[name] = self.make_process(spec)
        except Exception:
            for process in made.values():
                process.stop()
            raise
        return made

    def _worker(self, name: str, process: Process) -> JobWorker:
        worker = JobWorker(name, process, self._relay, self)
        worker.event_arrived.connect(self.event_arrived)
        worker.finished_with.connect(self._on_finished)
        return worker

    def _relay(self, event: Event) -> bool:
        """Called in the workers' threads."""
        deliver(event, self.ports)
        return isinstance(event, _FOR_WINDOW)

    def send(self, event: Event, names: Iterable[str]) -> None:
        """Sends from threads of their own: pickling takes time, and one child's pipe may be full."""
        for name in names:
            if name in self._workers:
                self._posts[name].do(partial(self.ports[name].send, event))

    def pause(self, on: bool) -> None:
        self.send(Paused(on), JOBS)  # clips go on: what is offered can still be looked at

    def dismiss(self, names: Iterable[str] = JOB_NAMES) -> None:
        """Asks these children to end; `dismissed` follows when none is left at all."""
        for name in names:
            if name in self._workers:
                self._workers[name].cancel()
        if not self._workers:
            self.dismissed.emit()

    def close(self) -> None:
        """After `dismissed`: ends what is left of the crew's threads."""
        for post in self._posts.values():
            post.end()
            post.wait()

    def _on_finished(self, name: str, reason: str) -> None:
        worker = self._workers.pop(name)
        worker.wait()  # its run() has nothing left to do
        worker.deleteLater()
        self.job_ended.emit(name, reason)
        if not self._workers:
            self.dismissed.emit()
