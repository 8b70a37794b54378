"""Moving pictures of tasks: a preview drawn in a rectangle, and the clock by which previews move."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRect, Qt, QTimer
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QWidget

from app.previews.previews import UNTRAINED, Preview
from app.style import theme
from app.style.painting import rounded, set_font, write_badge
from core.service_events import PREVIEW_FPS

_MUCH_SMALLER = 0.75


class MovingPicture:
    """A preview, or words in its place.

    preview: None until it is rendered, or if it can't be
    words: shown without a preview; trouble: True if they report an error
    """

    def __init__(self, words: str = "", badge: int = 0) -> None:
        """badge: font size of the mark of a picture that was recorded before any training; 0 for no mark"""
        self.preview: Preview | None = None
        self.words, self.trouble = words, False
        self._badge, self._frame = badge, 0
        self._small: dict[int, QImage] = {}
        self._small_side = 0

    def show(self, preview: Preview | None, words: str = "", trouble: bool = False) -> None:
        self.preview, self.words, self.trouble, self._small = preview, words, trouble, {}

    def move_to(self, frame: int) -> None:
        self._frame = frame

    def draw(self, painter: QPainter, room: QRect, radius: int) -> None:
        """Draw the present frame in a square with round corners."""
        painter.setClipPath(rounded(room, radius))
        if self.preview is None:
            self._draw_words(painter, room)
            return
        self._draw_frame(painter, room, self.preview)
        if self._badge and not self.preview.shows_goal:
            write_badge(painter, room, UNTRAINED, self._badge)

    def _draw_words(self, painter: QPainter, room: QRect) -> None:
        palette = theme.palette()
        painter.fillRect(room, QColor(palette.background))
        painter.setPen(QColor(palette.amber if self.trouble else palette.muted))
        set_font(painter, 13)
        edge = room.width() // 10
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(room.adjusted(edge, edge, -edge, -edge), flags, self.words)

    def _draw_frame(self, painter: QPainter, room: QRect, preview: Preview) -> None:
        """Draw one frame. Scaling down is slow, so each scaled frame is kept."""
        ratio = painter.device().devicePixelRatio()
        pixels, place = round(room.width() * ratio), preview.place(self._frame)
        if pixels > _MUCH_SMALLER * place.width():
            painter.drawImage(room, preview.strip, place)
            return
        if self._small_side != pixels:
            self._small, self._small_side = {}, pixels
        if place.top() not in self._small:
            self._small[place.top()] = preview.still(pixels, self._frame)
        painter.drawImage(room, self._small[place.top()])


class PreviewClock(QTimer):
    """Counts frames while a widget is shown and its window is not minimized."""

    def __init__(self, widget: QWidget, on_frame: Callable[[int], object]) -> None:
        """on_frame: called with the number of each frame"""
        super().__init__(widget, interval=round(1000 / PREVIEW_FPS))
        self._widget, self._on_frame, self._frame = widget, on_frame, 0
        self.timeout.connect(self._on_tick)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.Show:
                self.start()
            case QEvent.Type.Hide:
                self.stop()
        return False

    def _on_tick(self) -> None:
        if not self._widget.window().isMinimized():
            self._frame += 1
            self._on_frame(self._frame)
