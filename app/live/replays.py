"""Replays of earlier policies: requested, rendered by the clips job, and cached. No widgets."""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.live.demonstrations import FPS, SIZE, Demonstration
from app.live.policy_history import PolicyHistory
from app.workers.job_requests import JobRequests
from core.events import Arrays
from core.service_events import ReplayRefused, ReplayRendered, ReplayRequested
from core.session.policy_snapshots import SnapshotInfo

_CACHE_BYTES = 256 << 20
"""Four episodes of eight seconds in the smaller size."""
_NOT_RUNNING = "Earlier policies can be watched while the session runs."


class Replays(QObject):
    """Renders one replay at a time, and then the one requested last: a moving slider passes many.

    size: side of the next replays, in pixels

    Signals:
        replay_drawn(object): the requested Demonstration.
        replay_refused(str): it can't be shown; one sentence.
    """

    replay_drawn = Signal(object)
    replay_refused = Signal(str)

    def __init__(
        self,
        history: PolicyHistory,
        measure: str,
        requests: JobRequests,
        can_render: Callable[[], bool],
        parent: QObject,
    ) -> None:
        """can_render: returns True if the clips job is running"""
        super().__init__(parent)
        self._history, self._measure = history, measure
        self._job_requests, self._can_render = requests, can_render
        self.size = SIZE
        self._wanted: SnapshotInfo | None = None
        self._rendering: SnapshotInfo | None = None
        self._token = 0
        self._cache: OrderedDict[SnapshotInfo, Demonstration] = OrderedDict()

    def show(self, snapshot: SnapshotInfo | None) -> None:
        """Request a replay; `replay_drawn` or `replay_refused` follows, at once if it is cached.

        snapshot: None to request no replay any more
        """
        self._wanted = snapshot
        if snapshot is None:
            return
        if cached := self._cache.get(snapshot):
            self._cache.move_to_end(snapshot)
            self.replay_drawn.emit(cached)
        elif not self._can_render():
            self._refuse(_NOT_RUNNING)
        elif self._rendering is None:
            self._rendering = snapshot
            self._history.load(snapshot, partial(self._on_loaded, snapshot), partial(self._on_unreadable, snapshot))

    def _on_loaded(self, snapshot: SnapshotInfo, weights: Arrays) -> None:
        if snapshot == self._rendering:
            self._token = self._job_requests.send(
                lambda token: ReplayRequested(token, weights, self.size, FPS), self._on_answer
            )

    def _on_unreadable(self, snapshot: SnapshotInfo, sentence: str) -> None:
        if snapshot == self._rendering:
            self._refuse(sentence)

    def _on_answer(self, event: ReplayRendered | ReplayRefused) -> None:
        if isinstance(event, ReplayRefused):
            self._refuse(event.reason)
            return
        snapshot, self._rendering = self._rendering, None
        assert snapshot is not None
        figure = event.measure.get(self._measure, float("nan"))
        shown = snapshot.env_steps, snapshot.labels, figure, snapshot, event.signals
        replay = Demonstration(event.clip, event.predicted, *shown)
        self._cache[snapshot] = replay
        while len(self._cache) > 1 and sum(d.frames.pixels.nbytes for d in self._cache.values()) > _CACHE_BYTES:
            self._cache.popitem(last=False)
        self.show(self._wanted)

    def _refuse(self, sentence: str) -> None:
        self._job_requests.cancel(self._token)
        refused, self._rendering = self._rendering, None
        if refused is not None and self._wanted not in (None, refused):  # the slider has moved on meanwhile
            self.show(self._wanted)
            return
        self._wanted = None
        self.replay_refused.emit(sentence)
