"""Widget for one clip, with a border that can flash."""

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.style import theme
from app.style.images import of_pixels
from app.style.painting import fitted, rounded, set_font
from core.types import Frames

_RADIUS, _BORDER, _FLASH = 12, 2, 7
_PROGRESS = 6
"""Height in pixels of the line that shows the position in the loop."""
_TO_COME, _PLAYED = QColor(0, 0, 0, 70), QColor(255, 255, 255, 190)
_END = QColor(0, 0, 0, 60)
"""Shade over the last frame, so that the loop's beginning is seen as a change of light."""


class ClipPlayer(QWidget):
    """Shows frame number `index` of `frames`, scaled smoothly, as large as fits."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 160)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.frames: Frames | None = None
        self.index = 0
        self._flash: tuple[QColor, str] | None = None
        self._corners = QPainterPath()
        self._place = QRect()

    def sizeHint(self) -> QSize:
        return QSize(520, 520)

    def set_frames(self, frames: Frames | None) -> None:
        """Show the first frame. The frames are kept alive, as QImage does not copy them."""
        self.frames, self.index = frames, 0
        seconds = None if frames is None else len(frames.pixels) / frames.fps
        self.setAccessibleDescription("no clip" if seconds is None else f"a loop of {seconds:.1f} seconds")
        self._arrange()
        self.update()

    def show_frame(self, index: int) -> None:
        self.index = index
        self.update(self._place)

    def set_flash(self, colour: str | None, text: str = "") -> None:
        """Show a border of this colour with a text; None ends it."""
        self._flash = (QColor(colour), text) if colour else None
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def _arrange(self) -> None:
        """Place the frame, and the four corners that are painted over to round it."""
        size = QSize(1, 1)
        if self.frames is not None:
            height, width = self.frames.pixels.shape[1:3]
            size = QSize(width, height)
        self._place = fitted(size, self.rect())
        self._corners = rounded(self._place, 0).subtracted(rounded(self._place, _RADIUS))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if not self._place.contains(event.rect()):
            painter.fillRect(event.rect(), QColor(theme.palette().background))
        self._draw_picture(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillPath(self._corners, QColor(theme.palette().background))
        self._draw_border(painter)
        painter.end()

    def _draw_picture(self, painter: QPainter) -> None:
        if self.frames is None:
            painter.fillRect(self._place, QColor(theme.palette().panel))
            return
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(self._place, of_pixels(self.frames.pixels[self.index]))
        count, width = len(self.frames.pixels), self._place.width()
        if self.index == count - 1 > 0:
            painter.fillRect(self._place, _END)
        line = QRect(self._place.left(), self._place.bottom() + 1 - _PROGRESS, width, _PROGRESS)
        painter.fillRect(line, _TO_COME)
        line.setWidth(round(width * (self.index + 1) / count))
        painter.fillRect(line, _PLAYED)

    def _draw_border(self, painter: QPainter) -> None:
        colour, width = QColor(theme.palette().line), _BORDER
        if self._flash:
            colour, width = self._flash[0], _FLASH
        elif self.hasFocus():
            colour, width = QColor(theme.palette().blue), 2 * _BORDER
        painter.setPen(QPen(colour, width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        inset = width / 2
        frame = QRectF(self._place).adjusted(inset, inset, -inset, -inset)
        painter.drawRoundedRect(frame, _RADIUS - inset, _RADIUS - inset)
        if self._flash and self._flash[1]:
            self._draw_text(painter, *self._flash)

    def _draw_text(self, painter: QPainter, colour: QColor, text: str) -> None:
        set_font(painter, max(15, self._place.width() // 20), bold=True)
        box = painter.fontMetrics().boundingRect(text).adjusted(-16, -8, 16, 8)
        box.moveCenter(self._place.center())
        box.moveTop(self._place.top() + 20)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        painter.setPen(QColor(theme.palette().background))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
