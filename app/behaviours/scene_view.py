"""View of the robot in motion, as in a clip, with a camera that is turned by mouse or keys."""

from dataclasses import replace

from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QShowEvent, QWheelEvent

from app.clips.clip_player import ClipPlayer
from app.clips.frame_clock import FrameClock
from app.labelling.pair_queue import clip_size
from core.behaviours.behaviour import CAMERA, CameraView
from core.types import Frames

SIDE = 380
"""Minimum width and height in pixels."""
_DEGREES_PER_PIXEL, _KEY_DEGREES, _NEARER = 0.5, 5.0, 0.9
_SETTLED_MS = 250
"""Time after the last key press or turn of the wheel until the clip is drawn again."""


class SceneView(ClipPlayer):
    """Plays a clip of the robot, and shows a still while the camera is being turned.

    view: the camera

    Signals:
        turned(object): the camera is being turned; the new CameraView.
        settled(): the camera is at rest again.
    """

    turned = Signal(object)
    settled = Signal()

    def __init__(self) -> None:
        super().__init__("The robot")
        self.setFixedSize(SIDE, SIDE)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setToolTip("Drag to rotate, scroll to zoom. Keys: arrows, + and −; Home resets the view.")
        self.view = CameraView(90, 12, 4)
        self.usual = self.view
        self.clip: Frames | None = None
        """The clip to play; kept while a still takes its place on screen."""
        self.clock = FrameClock(self)
        self.clock.frame_due.connect(self._on_frame_due)
        self._dragged_from: QPointF | None = None
        self._settling = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._settling.timeout.connect(self.settled)
        self.play(None)

    @property
    def clip_size(self) -> int:
        """Size at which to render the clip, in pixels."""
        return clip_size(self.width() * self.devicePixelRatioF())

    def set_view(self, view: CameraView, usual: CameraView) -> None:
        """usual: the robot's own camera, to which Home returns"""
        self.view, self.usual = view, usual

    def play(self, clip: Frames | None) -> None:
        """Play a clip that was drawn with this view; None for an empty picture."""
        self.clip = clip
        self.set_frames(clip)
        self.placeholder = "Loading preview…"
        if clip is None:
            self.clock.halt()
            self._settling.stop()
        elif self._dragged_from is None and self.isVisible():
            self.clock.play(len(clip.pixels), clip.fps)

    def refuse(self, sentence: str) -> None:
        """Show the reason why there is no picture, in its place."""
        self.play(None)
        self.placeholder = sentence
        self.update()

    def reset_view(self) -> None:
        self._turn(self.usual)
        self._settling.start()

    def _on_frame_due(self, index: int) -> None:
        if self.clip is not None and self.frames is self.clip:
            self.show_frame(index)

    def _turn(self, view: CameraView) -> None:
        self.clock.halt()
        self.view = CameraView(
            (view.azimuth + 180) % 360 - 180,
            _within("elevation", view.elevation),
            _within("distance", min(4 * self.usual.distance, max(0.3 * self.usual.distance, view.distance))),
        )
        self.turned.emit(self.view)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._dragged_from = event.position()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._dragged_from is not None:
            way, self._dragged_from = event.position() - self._dragged_from, event.position()
            azimuth = self.view.azimuth - _DEGREES_PER_PIXEL * way.x()
            elevation = self.view.elevation + _DEGREES_PER_PIXEL * way.y()
            self._turn(replace(self.view, azimuth=azimuth, elevation=elevation))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._dragged_from is not None and event.button() == Qt.MouseButton.LeftButton:
            self._dragged_from = None
            self.setCursor(Qt.CursorShape.OpenHandCursor)
            self.settled.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._turn(replace(self.view, distance=self.view.distance * _NEARER ** (event.angleDelta().y() / 120)))
        self._settling.start()
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        view, step = self.view, _KEY_DEGREES
        match event.key():
            case Qt.Key.Key_Left:
                moved = replace(view, azimuth=view.azimuth + step)
            case Qt.Key.Key_Right:
                moved = replace(view, azimuth=view.azimuth - step)
            case Qt.Key.Key_Up:
                moved = replace(view, elevation=view.elevation + step)
            case Qt.Key.Key_Down:
                moved = replace(view, elevation=view.elevation - step)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                moved = replace(view, distance=view.distance * _NEARER)
            case Qt.Key.Key_Minus:
                moved = replace(view, distance=view.distance / _NEARER)
            case Qt.Key.Key_Home:
                moved = self.usual
            case _:
                super().keyPressEvent(event)
                return
        self._turn(moved)
        self._settling.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.clip is not None:
            self.play(self.clip)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.clock.halt()


def _within(name: str, value: float) -> float:
    low, high = CAMERA[name]
    return min(high, max(low, value))
