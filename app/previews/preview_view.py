"""A task's moving preview, large."""

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.previews.moving_picture import MovingPicture, PreviewClock
from app.previews.previews import Preview

_SIDE, _RADIUS = 240, 12
"""Pixels. The pictures of goals have 192, and are blurred where they are enlarged much more."""


class PreviewView(QWidget):
    """Moving picture of a task; text if there is no preview."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(_SIDE, _SIDE)
        self.picture = MovingPicture(badge=14)
        PreviewClock(self, self._show_frame)

    def set_preview(self, preview: Preview | None, text: str = "") -> None:
        """text: shown if there is no preview."""
        self.picture.show(preview, text)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        self.picture.draw(painter, self.rect(), _RADIUS)
        painter.end()

    def _show_frame(self, frame: int) -> None:
        self.picture.move_to(frame)
        if self.picture.preview is not None:
            self.update()
