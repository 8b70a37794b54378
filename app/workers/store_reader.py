"""Thread that reads the store of answers while another one writes it."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject

from app.workers.background_thread import BackgroundThread
from core.preferences.store import PreferenceStore


class StoreReader(BackgroundThread):
    """Background thread with a read-only store, opened in this thread at the first request."""

    def __init__(self, open_store: Callable[[], PreferenceStore], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._open_store = open_store
        self._store: PreferenceStore | None = None

    def ask(self, look: Callable[[PreferenceStore], Any], name: str) -> None:
        """Call `look` with the store; `task_done` or `task_refused` with this name follows."""
        if not self.isRunning():
            self.start()
        self.do(lambda: look(self._opened()), name)

    def _opened(self) -> PreferenceStore:
        self._store = self._store or self._open_store()
        return self._store

    def end(self) -> None:
        self.do(self._close)
        super().end()

    def _close(self) -> None:
        if self._store:
            self._store.close()
            self._store = None
