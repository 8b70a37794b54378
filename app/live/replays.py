"""Policies of the past in action: asked for, drawn by the clips job, and remembered for a while. No widgets."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.live.demonstrations import FPS, SIZE, Demonstration
from app.live.policy_history import PolicyHistory
from core.events import Arrays, ReplayRefused, ReplayRendered, ReplayRequested
from core.session.policy_snapshots import SnapshotInfo

_REMEMBERED = 256 << 20
"""Bytes of pictures: four episodes of eight seconds."""
_NOT_RUNNING = (
    "An earlier policy can't be shown while the process that draws it is not running: start the session first."
)
_Key = tuple[int, float]


class Replays(QObject):
    """One replay at a time, and next the one that is wanted then: a slider passes over many.

    Signals:
        replay_requested(object): a ReplayRequested for the clips job.
        replay_drawn(object): the Demonstration that was asked for.
        replay_refused(str): it can't be shown; one sentence.
    """

    replay_requested = Signal(object)
    replay_drawn = Signal(object)
    replay_refused = Signal(str)

    def __init__(
        self,
        past: PolicyHistory,
        measure: str,
        tokens: itertools.count[int],
        can_draw: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        """can_draw: whether there is a clips job to ask."""
        super().__init__(parent)
        self._can_draw = can_draw
        self._past, self._measure, self._tokens = past, measure, tokens
        self._wanted: SnapshotInfo | None = None
        self._acting: SnapshotInfo | None = None
        self._token = 0
        self._drawn: OrderedDict[_Key, Demonstration] = OrderedDict()
        past.policy_loaded.connect(self._on_loaded)
        past.policy_refused.connect(self._on_refused)

    def show(self, moment: SnapshotInfo | None) -> None:
        """replay_drawn or replay_refused answers, at once where it was drawn not long ago. None: no longer wanted."""
        self._wanted = moment
        known = self._drawn.get(_key(moment)) if moment else None
        if moment and known:
            self._drawn.move_to_end(_key(moment))
            self.replay_drawn.emit(known)
        elif moment and not self._can_draw():
            self._on_refused(_NOT_RUNNING)
        elif moment and self._acting is None:
            self._ask(moment)

    def take(self, event: ReplayRendered | ReplayRefused) -> None:
        if event.token != self._token or self._acting is None:
            return
        if isinstance(event, ReplayRefused):
            self._on_refused(event.reason)
            return
        acted, self._acting = self._acting, None
        figure = event.measure.get(self._measure, float("nan"))
        self._remember(acted, Demonstration(event.clip, event.predicted, acted.env_steps, figure, acted))
        self.show(self._wanted)

    def forget(self) -> None:
        """The clips job was started anew: what it was drawing will not come."""
        self._acting = None
        self.show(self._wanted)

    def _ask(self, moment: SnapshotInfo) -> None:
        self._acting, self._token = moment, next(self._tokens)
        self._past.load(moment)

    def _on_loaded(self, moment: SnapshotInfo, weights: Arrays) -> None:
        if moment == self._acting:
            self.replay_requested.emit(ReplayRequested(self._token, weights, SIZE, FPS))

    def _on_refused(self, sentence: str) -> None:
        self._acting = self._wanted = None
        self.replay_refused.emit(sentence)

    def _remember(self, moment: SnapshotInfo, demonstration: Demonstration) -> None:
        """The newest stays, however large it is."""
        self._drawn[_key(moment)] = demonstration
        while len(self._drawn) > 1 and sum(d.frames.pixels.nbytes for d in self._drawn.values()) > _REMEMBERED:
            self._drawn.popitem(last=False)


def _key(moment: SnapshotInfo) -> _Key:
    """A session that was taken back may have another policy after as many steps, but never after the same time."""
    return moment.env_steps, moment.seconds
