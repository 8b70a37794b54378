"""Predicted reward along an episode, with a head that moves as the episode plays."""

import math

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.style import theme
from app.style.painting import set_font
from core.types import Float32

_SPAN = 2.5
"""Standard deviations at which a column has its full height."""
_HEIGHT = 34
_HEAD = 2.0


def heights(predicted: Float32, columns: int) -> Float32:
    """Return (columns,) float32 from -1 to 1: means of the (k,) float32 normalized rewards that each column covers."""
    edges = np.arange(columns + 1) * len(predicted) / columns
    first = np.floor(edges[:-1]).astype(int)
    last = np.maximum(np.ceil(edges[1:] - 1e-9).astype(int), first + 1)
    sums = np.concatenate([[0.0], np.cumsum(predicted, dtype=np.float64)])
    means = (sums[last] - sums[first]) / (last - first)
    return np.clip(means / _SPAN, -1, 1).astype(np.float32)


def colour(height: float) -> QColor:
    """Return the colour of a column: blue below the mean, green above, fainter near it. height: from -1 to 1"""
    made = QColor(theme.palette().green if height >= 0 else theme.palette().blue)
    made.setAlphaF(0.35 + 0.65 * abs(height))
    return made


class RewardLegend(QLabel):
    """Legend for the columns of the timeline; empty while there are none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._has_columns = False
        self.setObjectName("rewardLegend")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._update_text()

    def set_columns(self, on: bool) -> None:
        """on: the timeline has columns"""
        self._has_columns = on
        self._update_text()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._update_text()

    def _update_text(self) -> None:
        above, below = (f"<span style='color:{c}'>■</span>" for c in (theme.palette().green, theme.palette().blue))
        self.setText(f"Predicted reward: {above} above average {below} below" if self._has_columns else "")


class RewardTimeline(QWidget):
    """Widget below a clip. Columns are painted once; each frame costs a pixmap and a line."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Predicted reward along the episode")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(_HEIGHT)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)  # or Qt would repaint the background at each frame
        self.predicted: Float32 = np.zeros(0, np.float32)
        self.known = False
        """False without an episode, while it is not known whether a reward has been fitted."""
        self._share = 0.0
        self._picture: QPixmap | None = None

    @property
    def head(self) -> float:
        """Position of the head in pixels."""
        return self._share * self.width()

    def sizeHint(self) -> QSize:
        return QSize(288, self.minimumHeight())

    def set_predicted(self, predicted: Float32 | None) -> None:
        """predicted: (k,) float32 normalized rewards of the episode; (0,) before the first reward fit; None for no episode"""
        self.known, self._share, self._picture = predicted is not None, 0.0, None
        self.predicted = np.zeros(0, np.float32) if predicted is None else predicted
        self.update()

    def set_share(self, share: float) -> None:
        """share: part of the episode that has been played, from 0 to 1"""
        self._share = share
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self._picture = None  # the colours have changed
        super().changeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._picture = None

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._picture is None or self._picture.devicePixelRatio() != self.devicePixelRatioF():
            self._picture = self._painted()
        painter.drawPixmap(0, 0, self._picture)
        if len(self.predicted):
            x = min(self.head, self.width() - _HEAD)
            painter.fillRect(QRectF(x, 0, _HEAD, self.height()), QColor(theme.palette().text))
        painter.end()

    def _painted(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        made = QPixmap(max(1, math.ceil(self.width() * ratio)), max(1, math.ceil(self.height() * ratio)))
        made.setDevicePixelRatio(ratio)
        made.fill(QColor(theme.palette().panel))
        painter = QPainter(made)
        if len(self.predicted):
            self._paint_columns(painter)
        elif self.known:
            painter.setPen(QColor(theme.palette().muted))
            painter.setFont(self.font())
            set_font(painter, round(self.height() * 0.4))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "Recorded before training started")
        painter.end()
        return made

    def _paint_columns(self, painter: QPainter) -> None:
        middle = self.height() / 2
        painter.fillRect(QRectF(0, middle - 0.5, self.width(), 1), QColor(theme.palette().line))
        for x, height in enumerate(heights(self.predicted, max(1, self.width())).tolist()):
            reach = abs(height) * middle
            painter.fillRect(QRectF(x, middle - reach if height >= 0 else middle, 1, reach), colour(height))
