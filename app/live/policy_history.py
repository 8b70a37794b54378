"""The policies of the past: kept while the session runs, off the window's thread, and brought back. No widgets."""

from __future__ import annotations

import logging
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.workers.background_thread import BackgroundThread
from core.events import Arrays, Event, PolicyPublished
from core.session.policy_snapshots import SnapshotInfo
from core.session.session import Session

log = logging.getLogger(__name__)
_LIST, _KEEP, _LOAD = "list policies", "keep policy", "load policy"
_NEVER = 1 << 62
Known = Callable[[], tuple[int, float, float]]
"""Labels, seconds of teaching and the task's measure by now. Called in any thread."""


class PolicyHistory(QObject):
    """What the session keeps of how the policy learned. A port (core.session.routing.Port) for what the policy publishes.

    Signals:
        moments_changed(object): the Moments there are now, in order; a tuple.
        policy_loaded(object, object): what was asked for: its Moment, and the weights.
        policy_refused(str): it can't be brought back; one sentence.
        trouble_arose(str): something can't be kept or read; it stops nothing. One sentence.
    """

    moments_changed = Signal(object)
    policy_loaded = Signal(object, object)
    policy_refused = Signal(str)
    trouble_arose = Signal(str)
    _damage_found = Signal(str)

    def __init__(self, session: Session, disk: BackgroundThread, known: Known, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._snapshots, self._disk, self._known = session.snapshots(), disk, known
        self._due = self._seen = 0
        self._told = False
        self._kept: tuple[SnapshotInfo, ...] = ()
        """As the disk's thread knows them; `moments` is what the window was told."""
        self.moments: tuple[SnapshotInfo, ...] = ()
        disk.task_done.connect(self._on_done)
        disk.task_refused.connect(self._on_refused)
        self._damage_found.connect(self.trouble_arose)

    def list(self) -> None:
        """Reads what there is; moments_changed answers."""
        self._disk.do(self._read, _LIST)

    def load(self, moment: SnapshotInfo) -> None:
        """policy_loaded or policy_refused answers."""
        self._disk.do(lambda: (moment, self._snapshots.load(moment.env_steps)[1]), _LOAD)

    def send(self, event: Event) -> None:
        """Called in a worker's thread, for each policy; most are not due."""
        if not isinstance(event, PolicyPublished) or event.env_steps is None:
            return
        seen, self._seen = self._seen, event.env_steps
        if seen <= event.env_steps < self._due:
            return
        self._due = _NEVER  # until the disk has answered
        moment = SnapshotInfo(event.env_steps, *self._known())
        self._disk.do(lambda: self._keep(moment, event.weights), _KEEP)

    def _read(self) -> tuple[SnapshotInfo, ...]:
        self._kept = tuple(self._snapshots.infos(self._damage_found.emit))
        return self._kept

    def _keep(self, moment: SnapshotInfo, weights: Arrays) -> tuple[SnapshotInfo, ...]:
        """The moments there are then."""
        try:
            added = self._snapshots.add(moment, weights)
            kept = set(self._snapshots.env_steps())
        finally:
            self._due = max(self._snapshots.next_due(), moment.env_steps + 1)
        earlier = moment.env_steps - 1 if added else moment.env_steps
        left = [past for past in self._kept if past.env_steps in kept and past.env_steps <= earlier]
        self._kept = (*left, *([moment] if added else []))
        return self._kept

    def _on_done(self, name: str, result: object) -> None:
        if name == _LOAD and isinstance(result, tuple):
            self.policy_loaded.emit(*result)
        elif name in (_LIST, _KEEP) and isinstance(result, tuple):
            self._told = False
            self.moments = result
            self.moments_changed.emit(result)

    def _on_refused(self, name: str, sentence: str) -> None:
        if name == _LOAD:
            self.policy_refused.emit(sentence)
        elif name in (_LIST, _KEEP) and not self._told:  # a full disk is told of once
            self._told = True
            self.trouble_arose.emit(sentence)
