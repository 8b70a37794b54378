"""A task's animated preview, large."""

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.start_page.previews import FPS, UNTRAINED, Preview
from app.style import theme
from app.style.painting import rounded, write_badge

_SIDE, _RADIUS = 320, 12


class PreviewView(QWidget):
    """Moving picture of a task, which plays only while visible; text if there is no preview."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedSize(_SIDE, _SIDE)
        self.preview: Preview | None = None
        self.text = ""
        self._frame = 0
        self._clock = QTimer(self, interval=round(1000 / FPS))
        self._clock.timeout.connect(self._on_tick)

    def set_preview(self, preview: Preview | None, text: str = "") -> None:
        """text: shown if there is no preview."""
        self.preview, self.text = preview, text
        self._update_clock()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.setClipPath(rounded(self.rect(), _RADIUS))
        painter.fillRect(self.rect(), QColor(theme.palette().panel))
        if self.preview is not None:
            painter.drawImage(self.rect(), self.preview.strip, self.preview.place(self._frame))
            if not self.preview.shows_goal:
                write_badge(painter, self.rect(), UNTRAINED, 14)
        else:
            painter.setPen(QColor(theme.palette().muted))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect().adjusted(24, 24, -24, -24), flags, self.text)
        painter.end()

    def showEvent(self, event: QShowEvent) -> None:
        self._update_clock()

    def hideEvent(self, event: QHideEvent) -> None:
        self._update_clock()

    def _update_clock(self) -> None:
        if self.isVisible() and self.preview is not None:
            self._clock.start()
        else:
            self._clock.stop()

    def _on_tick(self) -> None:
        self._frame += 1
        self.update()
