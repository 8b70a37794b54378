"""Policy snapshots of the session: saved and loaded in the disk's thread. No widgets."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.workers.background_thread import BackgroundThread
from core.events import Arrays, Event, PolicyPublished
from core.session.policy_snapshots import SnapshotInfo
from core.session.session import Session

_NEVER = 1 << 62


class PolicyHistory(QObject):
    """Port (core.session.routing.Port) that saves the policies published by the policy job.

    snapshots: infos of the snapshots on disk, in order

    Signals:
        snapshots_changed(object): the new tuple of SnapshotInfo.
        trouble_arose(str): a snapshot can't be saved or read; nothing stops. One sentence.
    """

    snapshots_changed = Signal(object)
    trouble_arose = Signal(str)

    def __init__(
        self, session: Session, disk: BackgroundThread, figures: Callable[[], tuple[int, float, float]], parent: QObject
    ) -> None:
        """figures: returns labels, seconds of training and the measure so far; called in any thread"""
        super().__init__(parent)
        self._session, self._disk, self._figures = session, disk, figures
        self._store = session.snapshots()
        self._due = self._last_steps = 0
        self._trouble_told = False
        self._on_disk: tuple[SnapshotInfo, ...] = ()
        """State of the disk's thread; `snapshots` is the window's copy."""
        self.snapshots: tuple[SnapshotInfo, ...] = ()

    def list(self) -> None:
        """Read the snapshots on disk; `snapshots_changed` follows."""
        self._disk.do(self._read, self._on_changed, self._on_trouble)

    def load(self, snapshot: SnapshotInfo, done: Callable[[Arrays], object], refused: Callable[[str], object]) -> None:
        """Load a snapshot; `done` gets its weights, or `refused` one sentence if that is impossible."""
        self._disk.do(lambda: self._store.load(snapshot.env_steps)[1], done, refused)

    def send(self, event: Event) -> None:
        """Save a published policy if a snapshot is due. Called in a worker's thread."""
        if not isinstance(event, PolicyPublished):
            return
        last, self._last_steps = self._last_steps, event.env_steps
        if last <= event.env_steps < self._due:
            return
        self._due = _NEVER  # until this one is on disk
        snapshot = SnapshotInfo(event.env_steps, *self._figures())
        self._disk.do(lambda: self._save(snapshot, event.weights), self._on_changed, self._on_trouble)

    def _read(self) -> tuple[SnapshotInfo, ...]:
        self._on_disk = tuple(self._store.infos(self.trouble_arose.emit))
        return self._on_disk

    def _save(self, snapshot: SnapshotInfo, weights: Arrays) -> tuple[SnapshotInfo, ...]:
        """Save a snapshot and return all that are on disk then."""
        try:
            self._session.require_folder()
            added = self._store.add(snapshot, weights)
        finally:
            self._due = max(self._store.next_due(), snapshot.env_steps + 1)
        known = {info.env_steps: info for info in (*self._on_disk, *([snapshot] if added else []))}
        self._on_disk = tuple(known[steps] for steps in sorted(self._store.env_steps()) if steps in known)
        return self._on_disk

    def _on_changed(self, snapshots: tuple[SnapshotInfo, ...]) -> None:
        self._trouble_told = False
        self.snapshots = snapshots
        self.snapshots_changed.emit(snapshots)

    def _on_trouble(self, sentence: str) -> None:
        if not self._trouble_told:  # a full disk is reported once
            self._trouble_told = True
            self.trouble_arose.emit(sentence)
