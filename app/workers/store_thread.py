"""Thread with a store of answers of its own."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject

from app.workers.background_thread import BackgroundThread, Receiver
from core.preferences.store import PreferenceStore


class StoreThread(BackgroundThread):
    """Background thread whose store is opened in this thread at the first request, and again until it opens."""

    def __init__(self, open_store: Callable[[], PreferenceStore], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._open_store = open_store
        self._store: PreferenceStore | None = None

    def ask(
        self, look: Callable[[PreferenceStore], Any], done: Receiver | None = None, refused: Receiver | None = None
    ) -> None:
        """Call `look` with the store; `done` and `refused` are called as by `do`."""
        if not self.isRunning():
            self.start()
        self.do(lambda: look(self._opened()), done, refused)

    def _opened(self) -> PreferenceStore:
        self._store = self._store or self._open_store()
        return self._store

    def end(self) -> None:
        self.do(self._close_store)
        super().end()

    def _close_store(self) -> None:
        if self._store:
            self._store.close()
            self._store = None
