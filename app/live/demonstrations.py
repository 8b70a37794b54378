"""Live demonstrations of the policy, rendered when there is time for it. No widgets."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from app.workers.job_requests import JobRequests
from core.events import DemonstrationRecorded
from core.service_events import ClipsRendered, ClipsRequested
from core.session.policy_snapshots import SnapshotInfo
from core.types import Float32, Frames

SIZE, LARGE_SIZE, FPS = 288, 480, 30.0
"""Pixels and frames a second of demonstrations and replays."""
_LARGE = 560
"""Side of the picture on screen, in pixels, from which the large size is worth its time and memory."""
_PATIENCE_SECONDS = 8.0
"""Longest time that pairs for labelling are rendered first."""


def picture_size(pixels: float) -> int:
    """Return the size at which to render pictures whose side on screen has this many pixels."""
    return LARGE_SIZE if pixels >= _LARGE else SIZE


@dataclass(frozen=True)
class Demonstration:
    """Rendered episode of a policy.

    predicted: (k,) float32 predicted reward of each step; (0,) before the first reward fit
    labels: answers that the session had when the episode was recorded
    figure: the task's measure of this episode; nan if unknown
    snapshot: the policy's snapshot; None for the newest policy
    signals: of a robot, by name; each (k,) float32, one value for each step
    """

    frames: Frames
    predicted: Float32
    env_steps: int
    labels: int = 0
    figure: float = float("nan")
    snapshot: SnapshotInfo | None = None
    signals: Mapping[str, Float32] = field(default_factory=dict)


class Demonstrations(QObject):
    """Renders the newest recording, one at a time, and the next once the last has been shown.

    size: side of the next demonstrations, in pixels
    wanted: True while they are on screen; the newest recording is rendered once they are

    Signals:
        demonstration_drawn(object): the newest Demonstration.
        forgotten(): the policy of the demonstrations so far is no longer the newest one.
    """

    demonstration_drawn = Signal(object)
    forgotten = Signal()

    def __init__(self, measure: str, requests: JobRequests, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._measure, self._job_requests = measure, requests
        self.size, self.wanted = SIZE, True
        self._newest: tuple[DemonstrationRecorded, int] | None = None
        """The recording to render next, with its number of labels."""
        self._drawing: tuple[DemonstrationRecorded, int] | None = None
        self._token = 0
        """Token of the request for the recording that is being rendered."""
        self._next_at = time.monotonic()

    def take(self, event: DemonstrationRecorded, labels: int) -> None:
        """Render this recording next, in place of an older one that still waits. labels: of the session now"""
        self._newest = event, labels

    def forget(self) -> None:
        """Discard the recordings so far, as their policy is no longer the newest one."""
        self._job_requests.cancel(self._token)
        self._newest = self._drawing = None
        self.forgotten.emit()

    def draw_if_due(self, pair_ready: bool) -> None:
        """Render the newest recording if it is due. Call it often.

        Without a ready pair, pairs are rendered first, for some seconds at most.
        """
        now = time.monotonic()
        if self._newest is None or not self.wanted or self._drawing or now < self._next_at:
            return
        if not pair_ready and now < self._next_at + _PATIENCE_SECONDS:
            return
        self._drawing, self._newest = self._newest, None
        segments = (self._drawing[0].segment,)
        self._token = self._job_requests.send(
            lambda token: ClipsRequested(token, segments, self.size, FPS), self._on_clips_rendered
        )

    def _on_clips_rendered(self, event: ClipsRendered) -> None:
        assert self._drawing is not None
        (recorded, labels), self._drawing = self._drawing, None
        frames = event.clips[0]
        # After one loop: rendering takes time from training, but a demonstration that stays longer is old.
        # One from before training started is old as soon as there is another.
        self._next_at = time.monotonic() + (len(frames.pixels) / frames.fps if len(recorded.predicted) else 0.0)
        figure = recorded.measure.get(self._measure, float("nan"))
        steps, signals = recorded.env_steps, recorded.signals
        shown = Demonstration(frames, recorded.predicted, steps, labels, figure, signals=signals)
        self.demonstration_drawn.emit(shown)
