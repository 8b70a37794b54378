"""One task of the catalogue: a moving picture with its name, as a button."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage, QKeyEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.start_page.previews import Preview
from app.style import theme
from app.style.labels import tip
from core.tasks.base import Task

LEAST_WIDTH = 172
_MARGIN, _RADIUS, _TEXT = 10, 12, 50
_MUCH_SMALLER = 0.75


class TaskCard(QAbstractButton):
    """Calm until its picture is there; says so when the task can't be drawn."""

    def __init__(self, task: Task, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.task = task
        self.preview: Preview | None = None
        self.problem = ""
        self._frame = 0
        self._small: dict[int, QImage] = {}
        self._small_side = 0
        self.setText(task.title)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)  # or all that is behind it is drawn for each frame
        self.setAccessibleName(task.title)
        self._describe("Its picture is being drawn.")

    def set_preview(self, preview: Preview | None) -> None:
        self.preview, self.problem, self._small = preview, "", {}
        self._describe("")
        self.update()

    def set_problem(self, sentence: str) -> None:
        self.preview, self.problem = None, sentence
        self._describe(sentence)
        self.update()

    def show_frame(self, frame: int) -> None:
        """Of the loop. Costs nothing where there is nothing to be seen of it."""
        self._frame = frame
        if self.preview is not None and not self.visibleRegion().isEmpty():
            self.update(self._place)

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
        """Its height follows: the picture is square."""
        self.setFixedSize(width, width + _TEXT)

    def sizeHint(self) -> QSize:
        return QSize(LEAST_WIDTH, LEAST_WIDTH + _TEXT)

    @property
    def _place(self) -> QRect:
        side = self.width() - 2 * _MARGIN
        return QRect(_MARGIN, _MARGIN, side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        if not self._place.contains(event.rect()):  # else it is only the next frame
            painter.fillRect(self.rect(), QColor(theme.palette().background))
            self._draw_card(painter)
            self._draw_title(painter)
        self._draw_picture(painter)
        painter.end()

    def _draw_picture(self, painter: QPainter) -> None:
        painter.fillRect(self._place, QColor(theme.palette().line if self.isDown() else theme.palette().panel))
        rounded = QPainterPath()
        rounded.addRoundedRect(QRectF(self._place), _RADIUS - 4, _RADIUS - 4)
        painter.setClipPath(rounded)
        if self.preview is not None:
            self._draw_frame(painter, self.preview)
        else:
            self._draw_placeholder(painter)

    def _draw_frame(self, painter: QPainter, preview: Preview) -> None:
        """Making a picture much smaller costs more than all else, so that is done once for each frame of the loop."""
        pixels, place = round(self._place.width() * self.devicePixelRatio()), preview.place(self._frame)
        if pixels > _MUCH_SMALLER * place.width():
            painter.drawImage(self._place, preview.strip, place)
            return
        if self._small_side != pixels:
            self._small, self._small_side = {}, pixels
        if place.top() not in self._small:
            self._small[place.top()] = preview.still(pixels, self._frame)
        painter.drawImage(self._place, self._small[place.top()])

    def _draw_card(self, painter: QPainter) -> None:
        lit = self.hasFocus() or self.underMouse()
        colour, width = (theme.palette().blue, 2.0) if lit else (theme.palette().line, 1.0)
        painter.setPen(QPen(QColor(colour), width))
        painter.setBrush(QColor(theme.palette().line if self.isDown() else theme.palette().panel))
        inset = width / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), _RADIUS, _RADIUS)

    def _draw_placeholder(self, painter: QPainter) -> None:
        painter.fillRect(self._place, QColor(theme.palette().background))
        painter.setPen(QColor(theme.palette().amber if self.problem else theme.palette().muted))
        font = painter.font()
        font.setPixelSize(13)
        painter.setFont(font)
        room = self._place.adjusted(12, 12, -12, -12)
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(room, flags, self.problem or "Drawing …")

    def _draw_title(self, painter: QPainter) -> None:
        font = painter.font()
        font.setPixelSize(15)
        painter.setFont(font)
        painter.setPen(QColor(theme.palette().text))
        below = self._place.translated(0, self._place.height() + 6)
        title = QFontMetrics(font).elidedText(self.text(), Qt.TextElideMode.ElideRight, below.width())
        painter.drawText(below, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, title)
        font.setPixelSize(12)
        painter.setFont(font)
        painter.setPen(QColor(theme.palette().muted))
        told = QFontMetrics(font).elidedText(self.task.measure_title, Qt.TextElideMode.ElideRight, below.width())
        painter.drawText(below.adjusted(0, 24, 0, 0), Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, told)


ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
