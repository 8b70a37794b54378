"""Threads for slow work, mostly with files, which must not block the window."""

import logging
import queue
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThread, Signal

from core.errors import UserError, summary
from core.formatting import capitalized
from core.preferences.store import PreferenceStore

log = logging.getLogger(__name__)
Task = Callable[[], Any]
Receiver = Callable[[Any], object]


class BackgroundThread(QThread):
    """Runs tasks one after the other, in the order they were added, from its construction to `end`.

    ending: True once the thread has been asked to end; a long task that is then of no use should check it
    """

    _outcome = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks: queue.SimpleQueue[tuple[Task, Receiver | None, Receiver | None] | None] = queue.SimpleQueue()
        self.ending = False
        self._outcome.connect(self._on_outcome)
        self.start()

    def do(self, task: Task, done: Receiver | None = None, refused: Receiver | None = None) -> None:
        """Add a task. In the window's thread, `done` gets its result, or `refused` one sentence if it fails.

        Without `refused`, a failure is logged.
        """
        self._tasks.put((task, done, refused))

    def end(self) -> None:
        """End the thread after the tasks that were added so far."""
        self.ending = True
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
                if refused is None:
                    log.warning("%s", error)
            except Exception as error:  # the boundary of the thread
                log.exception("A task in the background failed.")
                receiver, outcome = refused, f"{capitalized(summary(error)).rstrip('.')}."
            if receiver:
                self._outcome.emit(receiver, outcome)

    def _on_outcome(self, receiver: Receiver, outcome: Any) -> None:
        receiver(outcome)


class StoreThread(BackgroundThread):
    """Background thread with a store, which is opened at the first request; if that fails, at the next one."""

    def __init__(self, open_store: Callable[[], PreferenceStore], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._open_store = open_store
        self._store: PreferenceStore | None = None

    def ask(
        self, look: Callable[[PreferenceStore], Any], done: Receiver | None = None, refused: Receiver | None = None
    ) -> None:
        """Call `look` with the store; `done` and `refused` are called as by `do`."""
        self.do(lambda: look(self._opened()), done, refused)

    def _opened(self) -> PreferenceStore:
        self._store = self._store or self._open_store()
        return self._store

    def reopen(self) -> None:
        """Open the store again at the next request: the person may have restored a copy."""
        self.do(self._close_store)

    def end(self) -> None:
        self.ending = True
        self.do(self._close_store)
        super().end()

    def _close_store(self) -> None:
        if self._store:
            self._store.close()
            self._store = None
