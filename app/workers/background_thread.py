"""A thread for work that must not block the window: pickling into pipes, reading and writing checkpoints."""

import logging
import queue
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThread, Signal

from core.errors import UserError, summary

log = logging.getLogger(__name__)
Task = Callable[[], Any]
Receiver = Callable[[Any], object]


class BackgroundThread(QThread):
    """Runs tasks one after the other, in the order they were added."""

    _outcome = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks: queue.SimpleQueue[tuple[Task, Receiver | None, Receiver | None] | None] = queue.SimpleQueue()
        self._outcome.connect(self._on_outcome)

    def do(self, task: Task, done: Receiver | None = None, refused: Receiver | None = None) -> None:
        """Add a task. In the window's thread, `done` gets its result, or `refused` one sentence if it fails."""
        self._tasks.put((task, done, refused))

    def end(self) -> None:
        """End the thread after the tasks that were added so far."""
        self._tasks.put(None)

    def close(self) -> None:
        """End the thread as `end` does, and block until it has ended."""
        self.end()
        self.wait()

    def run(self) -> None:
        while (entry := self._tasks.get()) is not None:
            task, done, refused = entry
            try:
                receiver, outcome = done, task()
            except UserError as error:
                receiver, outcome = refused, str(error)
            except Exception as error:  # the boundary of the thread
                log.exception("A task in the background failed.")
                receiver, outcome = refused, summary(error)
            if receiver:
                self._outcome.emit(receiver, outcome)

    def _on_outcome(self, receiver: Receiver, outcome: Any) -> None:
        receiver(outcome)
