"""One task of the catalogue: an animated preview with its name, as a button."""

from html import escape

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.start_page.previews import Preview
from app.style import theme
from app.style.labels import tip
from app.style.painting import rounded, set_font, write_line
from core.tasks.base import Task

LEAST_WIDTH = 172
_MARGIN, _RADIUS, _TEXT = 10, 12, 50
_MUCH_SMALLER = 0.75


class TaskCard(QAbstractButton):
    """Shows a placeholder until the preview arrives, or the reason why it can't be rendered."""

    def __init__(self, task: Task, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.task = task
        self.preview: Preview | None = None
        self.error = ""
        self._frame = 0
        self._small: dict[int, QImage] = {}
        self._small_side = 0
        self.setText(task.title)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)  # or Qt would repaint the background at each frame
        self.setAccessibleName(task.title)
        self._describe("Its preview is being rendered.")

    def set_preview(self, preview: Preview | None) -> None:
        self.preview, self.error, self._small = preview, "", {}
        self._describe("")
        self.update()

    def set_error(self, sentence: str) -> None:
        self.preview, self.error = None, sentence
        self._describe(sentence)
        self.update()

    def show_frame(self, frame: int) -> None:
        """Show this frame of the preview; does nothing while the card is not visible."""
        self._frame = frame
        if self.preview is not None and not self.visibleRegion().isEmpty():
            self.update(self._picture_rect)

    def _describe(self, state: str) -> None:
        text = f"{self.task.instruction} {state}".strip()
        self.setAccessibleDescription(text)
        self.setToolTip(f"<p><b>{escape(self.task.title)}</b></p>{tip(text)}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            event.ignore() if event.key() in ARROWS else super().keyPressEvent(event)

    def set_width(self, width: int) -> None:
        """Set width and height; the preview is square."""
        self.setFixedSize(width, width + _TEXT)

    def sizeHint(self) -> QSize:
        return QSize(LEAST_WIDTH, LEAST_WIDTH + _TEXT)

    @property
    def _picture_rect(self) -> QRect:
        side = self.width() - 2 * _MARGIN
        return QRect(_MARGIN, _MARGIN, side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        if not self._picture_rect.contains(event.rect()):  # otherwise only the next frame is due
            painter.fillRect(self.rect(), QColor(theme.palette().background))
            self._draw_card(painter)
            self._draw_title(painter)
        self._draw_picture(painter)
        painter.end()

    def _draw_picture(self, painter: QPainter) -> None:
        painter.fillRect(self._picture_rect, QColor(theme.palette().line if self.isDown() else theme.palette().panel))
        painter.setClipPath(rounded(self._picture_rect, _RADIUS - 4))
        if self.preview is not None:
            self._draw_frame(painter, self.preview)
        else:
            self._draw_placeholder(painter)

    def _draw_frame(self, painter: QPainter, preview: Preview) -> None:
        """Draw one frame. Scaling down is slow, so that each scaled frame is kept."""
        pixels, place = round(self._picture_rect.width() * self.devicePixelRatio()), preview.place(self._frame)
        if pixels > _MUCH_SMALLER * place.width():
            painter.drawImage(self._picture_rect, preview.strip, place)
            return
        if self._small_side != pixels:
            self._small, self._small_side = {}, pixels
        if place.top() not in self._small:
            self._small[place.top()] = preview.still(pixels, self._frame)
        painter.drawImage(self._picture_rect, self._small[place.top()])

    def _draw_card(self, painter: QPainter) -> None:
        lit = self.hasFocus() or self.underMouse()
        colour, width = (theme.palette().blue, 2.0) if lit else (theme.palette().line, 1.0)
        painter.setPen(QPen(QColor(colour), width))
        painter.setBrush(QColor(theme.palette().line if self.isDown() else theme.palette().panel))
        inset = width / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), _RADIUS, _RADIUS)

    def _draw_placeholder(self, painter: QPainter) -> None:
        painter.fillRect(self._picture_rect, QColor(theme.palette().background))
        painter.setPen(QColor(theme.palette().amber if self.error else theme.palette().muted))
        set_font(painter, 13)
        room = self._picture_rect.adjusted(12, 12, -12, -12)
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(room, flags, self.error or "Rendering …")

    def _draw_title(self, painter: QPainter) -> None:
        top = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft
        below = self._picture_rect.translated(0, self._picture_rect.height() + 6)
        set_font(painter, 15)
        write_line(painter, below, self.text(), theme.palette().text, top)
        set_font(painter, 12)
        write_line(painter, below.adjusted(0, 24, 0, 0), self.task.measure_title, theme.palette().muted, top)


ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
