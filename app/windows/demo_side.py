"""Side of demo mode: the untrained and the newest policy, the counters, and the learning curve."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.live.demonstrations import Demonstration
from app.live.policy_player import RECORDING, PolicyPlayer
from app.plots.figure import runs
from app.session.controller import Controller, State
from app.session.metrics_recorder import PREDICTED, of_figure
from app.style import theme
from app.style.labels import label
from app.style.layouts import column, row
from app.style.painting import set_font
from core.formatting import format_number, format_steps
from core.session.policy_snapshots import SnapshotInfo
from core.types import Float64

_GAP = 12
"""Pixels between the two policies."""
_POINTS = 200
"""Points of the curve, which is small."""
_PREDICTED_TITLE = "Predicted return"
_NO_FIGURES = "No figures yet"
_TEXT = 14
"""Font size in pixels of painted texts, on the screen that all sizes refer to."""


class LearningCurve(QWidget):
    """One curve from the first step to the newest, with a point at its end and no scales; a text before the first point."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Learning curve")
        self.points: tuple[Float64, Float64] = np.empty(0), np.empty(0)
        self.text_pixels = _TEXT

    def sizeHint(self) -> QSize:
        return QSize(240, 70)

    def set_points(self, x: Float64, y: Float64) -> None:
        """x, y: (n,) float64; NaN leaves a gap"""
        if not (np.array_equal(x, self.points[0]) and np.array_equal(y, self.points[1], equal_nan=True)):
            self.points = x, y
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = max(2.0, self.height() / 30)
        box = QRectF(self.rect()).adjusted(2 * width, 2 * width, -2 * width, -width)
        painter.setPen(QPen(QColor(theme.palette().line), max(1.0, width / 2)))
        painter.drawLine(box.bottomLeft(), box.bottomRight())
        x, y = self.points
        known = y[np.isfinite(y)]
        if len(known):
            low, high = min(0.0, float(known.min())), float(known.max())
            xs = box.left() + box.width() * x / (float(x[-1]) or 1.0)
            ys = box.bottom() - box.height() * (y - low) / ((high - low) or 1.0)
            painter.setPen(QPen(QColor(theme.palette().green), width))
            for run in runs(y):
                pairs = zip(xs[run].tolist(), ys[run].tolist(), strict=True)
                painter.drawPolyline(QPolygonF([QPointF(*pair) for pair in pairs]))
            last = np.flatnonzero(np.isfinite(y))[-1]
            painter.setBrush(QColor(theme.palette().green))
            painter.drawEllipse(QPointF(float(xs[last]), float(ys[last])), width, width)
        else:
            painter.setPen(QColor(theme.palette().muted))
            set_font(painter, self.text_pixels)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, _NO_FIGURES)
        painter.end()


class DemoSide(QWidget):
    """Reads its figures from the controller on `refresh`. Without the true reward it shows the predicted return.

    before, now: players of the untrained and the newest policy
    """

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.before, self.now = PolicyPlayer("The first policy"), PolicyPlayer("The newest policy")
        for part in (self.before.reward_timeline, self.before.legend):
            part.hide()
        self.answers, self.steps, self.measure = (label("demoCount", "–", centred=True) for _ in range(3))
        self.measure_title, self.curve_title, self.steps_unit = (_unit() for _ in range(3))
        self.measure_title.setText(controller.task.measure_title)
        self.curve = LearningCurve()
        before, now = column(_unit("Before"), self.before), column(_unit("Now"), self.now)
        self.players = QWidget()
        row((before, 1), (now, 1), of=self.players, spacing=_GAP)
        timeline = column(self.now.reward_timeline, self.now.legend, spacing=2)  # as wide as there is room
        answers = column(self.answers, _unit("answers"), spacing=0)
        steps = column(self.steps, self.steps_unit, spacing=0)
        measure = column(self.measure, self.measure_title, spacing=0)
        column(
            *(self.players, timeline, row((answers, 1), (steps, 1)), measure),
            *((self.curve, 1), self.curve_title),
            of=self,
            spacing=8,
        )
        controller.demonstrations.demonstration_drawn.connect(self.now.play_next)
        controller.demonstrations.forgotten.connect(self.now.clear)
        controller.replays.replay_drawn.connect(self._on_replay_drawn)
        # A connection to a method ends with this widget; one to a function would remain and keep requesting.
        for changed in (controller.policy_history.snapshots_changed, controller.state_changed):
            changed.connect(self.ask_for_before)

    def ask_for_before(self) -> None:
        """Request the untrained policy's episode unless it is on screen."""
        first = self._first
        if self.before.shown is None and first is not None and self._controller.state == State.RUNNING:
            self._controller.replays.show(first)

    def refresh(self) -> None:
        controller, progress = self._controller, self._controller.progress
        hidden, name = controller.true_reward.hides(controller.task), of_figure(controller.task.measure_name)
        _, figures = controller.metrics.snapshot(name)
        number, unit = format_steps(progress.env_steps).split(" ")
        for player in (self.before.player, self.now.player):
            text = RECORDING if controller.state == State.RUNNING else "The episode appears once training continues"
            if player.placeholder != text:
                player.placeholder = text
                player.update()
        self.answers.setText(f"{progress.labels:,}")
        self.steps.setText(number)
        self.steps_unit.setText(f"environment {unit}")
        self.measure.setText(format_number(float(figures[-1])) if len(figures) else "–")
        for part in (self.measure, self.measure_title):
            part.setVisible(not hidden)
        self.curve.set_points(*controller.metrics.snapshot(PREDICTED if hidden else name, _POINTS))
        self.curve_title.setText(_PREDICTED_TITLE if hidden else f"{controller.task.measure_title} since the start")

    def show_counters_only(self, on: bool) -> None:
        """Show only the counters if `on`, else everything."""
        for part in (self.players, self.now.reward_timeline, self.now.legend, self.curve, self.curve_title):
            part.setVisible(not on)

    def set_scale(self, scale: float) -> None:
        """Fit the timeline and the painted texts to the screen's size."""
        self.now.reward_timeline.setFixedHeight(round(36 * scale))
        pixels = max(9, round(_TEXT * scale))
        self.curve.text_pixels = self.before.player.placeholder_pixels = self.now.player.placeholder_pixels = pixels

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for player in (self.before, self.now):
            player.setFixedHeight((self.width() - _GAP) // 2)  # the pictures are square

    def close_players(self) -> None:
        for player in (self.before, self.now):
            player.clock.halt()

    @property
    def _first(self) -> SnapshotInfo | None:
        """The untrained policy, if it was kept."""
        snapshots = self._controller.policy_history.snapshots
        return snapshots[0] if snapshots and snapshots[0].env_steps == 0 else None

    def _on_replay_drawn(self, replay: Demonstration) -> None:
        if replay.snapshot is not None and replay.snapshot == self._first:
            self.before.play_now(replay)


def _unit(text: str = "") -> QLabel:
    return label("demoUnit", text, wrap=True, centred=True)
