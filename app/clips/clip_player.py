"""Widget for one clip, with a border that can flash."""

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen, QPixmap, QRegion, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.style import theme
from app.style.images import of_pixels
from app.style.painting import fitted, rounded, set_font
from core.types import Frames

_RADIUS, _BORDER, _FLASH = 12, 2, 7
_PROGRESS = 6
"""Height in pixels of the line that shows the position in the loop."""
_TO_COME = QColor(0, 0, 0, 70)
_END = QColor(0, 0, 0, 60)
"""Shade over the last frame, so that the loop's beginning is seen as a change of light."""
_SCREEN = QImage.Format.Format_RGB32
_KEPT_BYTES = 128 << 20
"""Maximum bytes of scaled frames: an episode of eight seconds at 370 pixels, a clip at 1,000."""


_WRAPPED = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap


class ClipPlayer(QWidget):
    """Shows frame number `index` of `frames`, scaled smoothly, as large as fits.

    placeholder: text in place of a picture while there are no frames
    placeholder_pixels: size of its font
    """

    def __init__(
        self, name: str, parent: QWidget | None = None, side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignHCenter
    ) -> None:
        """side: where the picture is if the widget is wider"""
        super().__init__(parent)
        self._side = side
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 160)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.frames: Frames | None = None
        self.index, self.placeholder, self.placeholder_pixels = 0, "", 13
        self._flash: tuple[QColor, str] | None = None
        self._kept: dict[int, QImage] = {}
        """Scaled frames, by their index."""
        self._border_look: tuple[QSize, float, QColor, int, str] | None = None
        self._border = QPixmap()
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

    def set_flash(self, colour: str, text: str) -> None:
        """Show a text and a border of this colour; '' for the text ends it."""
        self._flash = (QColor(colour), text) if text else None
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def _arrange(self) -> None:
        """Place the frame, and discard the scaled frames."""
        self._kept.clear()
        size = QSize(1, 1)
        if self.frames is not None:
            height, width = self.frames.pixels.shape[1:3]
            size = QSize(width, height)
        self._place = fitted(size, self.rect())
        if self._side == Qt.AlignmentFlag.AlignRight:
            self._place.moveRight(self.rect().right())
        elif self._side == Qt.AlignmentFlag.AlignLeft:
            self._place.moveLeft(self.rect().left())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if not self._place.contains(event.rect()):
            painter.fillRect(event.rect(), QColor(theme.palette().background))
        if self.frames is None:
            painter.fillRect(self._place, QColor(theme.palette().panel))
            painter.setPen(QColor(theme.palette().muted))
            set_font(painter, self.placeholder_pixels)
            painter.drawText(self._place.adjusted(12, 0, -12, 0), _WRAPPED, self.placeholder)
        else:
            self._draw_picture(painter, self.frames)
        around = self._place.adjusted(-1, -1, 1, 1)  # with all device pixels, also where one of ours has one and a half
        painter.setClipRegion(QRegion(around) - QRegion(self._place.adjusted(_RADIUS, _RADIUS, -_RADIUS, -_RADIUS)))
        painter.drawPixmap(self._place.topLeft(), self._current_border())
        painter.setClipping(False)
        if self._flash:
            self._draw_text(painter, *self._flash)
        painter.end()

    def _draw_picture(self, painter: QPainter, frames: Frames) -> None:
        painter.drawImage(self._place.topLeft(), self._scaled(frames))
        count, width = len(frames.pixels), self._place.width()
        if self.index == count - 1 > 0:
            painter.fillRect(self._place, _END)
        line = QRect(self._place.left(), self._place.bottom() + 1 - _PROGRESS, width, _PROGRESS)
        painter.fillRect(line, _TO_COME)
        line.setWidth(round(width * (self.index + 1) / count))
        painter.fillRect(line, QColor(theme.palette().blue))  # white would vanish into a light frame

    def _scaled(self, frames: Frames) -> QImage:
        """The current frame in the size and format of the screen; kept for the next loops while there is room."""
        ratio = self.devicePixelRatioF()
        image = self._kept.get(self.index)
        if image is None or image.devicePixelRatio() != ratio:
            frame = of_pixels(frames.pixels[self.index]).convertToFormat(_SCREEN)  # other formats are scaled slowly
            ignore, smooth = Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
            image = frame.scaled((QSizeF(self._place.size()) * ratio).toSize(), ignore, smooth)
            image.setDevicePixelRatio(ratio)
            if image.sizeInBytes() * (len(self._kept) + 1) <= _KEPT_BYTES:
                self._kept[self.index] = image
        return image

    def _current_border(self) -> QPixmap:
        """The border, which is painted again only when it changes."""
        colour, width = QColor(theme.palette().line), _BORDER
        if self._flash:
            colour, width = self._flash[0], _FLASH
        elif self.hasFocus():
            colour, width = QColor(theme.palette().blue), 2 * _BORDER
        look = self._place.size(), self.devicePixelRatioF(), colour, width, theme.palette().background
        if look != self._border_look:
            self._border_look, self._border = look, _painted_border(*look)
        return self._border

    def _draw_text(self, painter: QPainter, colour: QColor, text: str) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pixels = max(15, self._place.width() // 20)
        set_font(painter, pixels, bold=True)
        words = painter.fontMetrics()
        box = QRect(0, 0, words.horizontalAdvance(text) + 2 * pixels, words.height() + pixels)
        box.moveCenter(self._place.center())
        box.moveTop(self._place.top() + 20)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        painter.setPen(QColor(theme.palette().background))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def _painted_border(size: QSize, ratio: float, colour: QColor, width: int, background: str) -> QPixmap:
    """A rounded border with its corners filled, transparent inside."""
    border = QPixmap((QSizeF(size) * ratio).toSize())
    border.setDevicePixelRatio(ratio)
    border.fill(Qt.GlobalColor.transparent)
    place = QRectF(QPointF(), QSizeF(border.size()) / ratio)  # whole device pixels, as the picture has
    painter = QPainter(border)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillPath(rounded(place, 0).subtracted(rounded(place, _RADIUS)), QColor(background))
    painter.setPen(QPen(colour, width))
    inset = width / 2
    painter.drawRoundedRect(place.adjusted(inset, inset, -inset, -inset), _RADIUS - inset, _RADIUS - inset)
    painter.end()
    return border
