"""A thread for work that must not block the window: pickling into pipes, reading and writing checkpoints."""

import logging
import queue
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThread, Signal

from core.errors import UserError, summary

log = logging.getLogger(__name__)
Task = Callable[[], Any]


class BackgroundThread(QThread):
    """Runs tasks one after the other, in the order they were added.

    Signals:
        task_done(str, object): a task with a name has finished; its name and result.
        task_refused(str, str): a task has failed; its name and one sentence.
    """

    task_done = Signal(str, object)
    task_refused = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks: queue.SimpleQueue[tuple[str, Task] | None] = queue.SimpleQueue()

    def do(self, task: Task, name: str = "") -> None:
        """Add a task; one without a name reports only its failure."""
        self._tasks.put((name, task))

    def end(self) -> None:
        """End the thread after the tasks that were added so far."""
        self._tasks.put(None)

    def close(self) -> None:
        """End the thread as `end` does, and block until it has ended."""
        self.end()
        self.wait()

    def run(self) -> None:
        while (entry := self._tasks.get()) is not None:
            name, task = entry
            try:
                result = task()
            except UserError as error:
                self.task_refused.emit(name, str(error))
            except Exception as error:  # the boundary of the thread
                log.exception("The task %r failed.", name)
                self.task_refused.emit(name, summary(error))
            else:
                if name:
                    self.task_done.emit(name, result)
