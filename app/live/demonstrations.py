"""The newest demonstration of the policy, drawn when there is time for it. No widgets."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from core.events import ClipsRendered, ClipsRequested, DemonstrationRecorded
from core.session.policy_snapshots import SnapshotInfo
from core.types import Float32, Frames

SIZE, FPS = 288, 30.0
"""Pixels and pictures a second of a policy in action."""
_LOOPS = 2
"""How often a demonstration is seen before the next is drawn: drawing takes from training."""
_PATIENCE_SECONDS = 8.0


@dataclass(frozen=True)
class Demonstration:
    """A policy acting, drawn.

    predicted (k,): the predicted reward of each step; (0,) before the first reward
    figure: the task's measure of this episode; nan where it is not known
    moment: when it was; None for the present policy
    """

    frames: Frames
    predicted: Float32
    env_steps: int
    figure: float = float("nan")
    moment: SnapshotInfo | None = None


class Demonstrations(QObject):
    """One drawing at a time, and the next only when the last could be seen twice.

    Signals:
        clips_requested(object): a ClipsRequested for the clips job.
        demonstration_drawn(object): the newest Demonstration.
    """

    clips_requested = Signal(object)
    demonstration_drawn = Signal(object)

    def __init__(self, measure: str, tokens: itertools.count[int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._measure, self._tokens = measure, tokens
        self._newest: DemonstrationRecorded | None = None
        self._drawing: tuple[int, DemonstrationRecorded] | None = None
        self._next_at = time.monotonic()

    def take(self, event: DemonstrationRecorded) -> None:
        self._newest = event

    def draw_if_due(self, pair_ready: bool) -> None:
        """Called now and then. A pair that somebody waits for is drawn first, but not for ever."""
        now = time.monotonic()
        if self._newest is None or self._drawing or now < self._next_at:
            return
        if not pair_ready and now < self._next_at + _PATIENCE_SECONDS:
            return
        self._drawing = (next(self._tokens), self._newest)
        self._newest = None
        token, event = self._drawing
        self.clips_requested.emit(ClipsRequested(token, (event.segment,), SIZE, FPS))

    def take_clips(self, event: ClipsRendered) -> None:
        if self._drawing is None or event.token != self._drawing[0]:
            return
        recorded, self._drawing = self._drawing[1], None
        frames = event.clips[0]
        self._next_at = time.monotonic() + _LOOPS * len(frames.pixels) / frames.fps
        figure = recorded.measure.get(self._measure, float("nan"))
        self.demonstration_drawn.emit(Demonstration(frames, recorded.predicted, recorded.env_steps, figure))

    def forget(self) -> None:
        """The clips job was started anew: what it was drawing will not come."""
        self._drawing = None
