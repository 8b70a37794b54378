"""Large button for demo mode: a key and its answer, readable from the back of a room."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from app.style import theme
from app.style.painting import set_font
from core.types import Choice

_KEY_SHARE, _NAME_SHARE = 0.5, 0.26
"""Height of the letters, as shares of the tile's height."""
_WIDEST = 0.86
"""Largest share of the tile's width that text may take; longer text is written smaller."""


class KeyTile(QAbstractButton):
    """Button with a key and its answer. It is never focused, as its key does the same."""

    def __init__(self, symbol: str, name: str, choice: Choice) -> None:
        super().__init__()
        self._symbol, self._name, self._choice = symbol, name, choice
        self.lit = False
        self.setText(name)
        self.setAccessibleName(f"{name}: key {symbol}")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(240, 110)

    def set_lit(self, on: bool) -> None:
        """Light the tile, to confirm its answer."""
        self.lit = on
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = max(2.0, self.height() / 40)
        frame = QRectF(self.rect()).adjusted(line / 2, line / 2, -line / 2, -line / 2)
        lit = self.lit or self.isDown()
        colour = theme.palette().choice_colours[self._choice]
        painter.setPen(QPen(QColor(colour if lit or self.isEnabled() else theme.palette().line), line))
        painter.setBrush(QColor(colour if lit else theme.palette().panel))
        painter.drawRoundedRect(frame, self.height() / 8, self.height() / 8)
        ink = theme.palette().background if lit else theme.palette().text if self.isEnabled() else theme.palette().muted
        self._write(painter, self._symbol, _KEY_SHARE, (0.08, 0.54), ink)
        self._write(painter, self._name, _NAME_SHARE, (0.6, 0.32), ink)
        painter.end()

    def _write(self, painter: QPainter, text: str, share: float, line: tuple[float, float], ink: str) -> None:
        """line: top and height of the line, as shares of the tile's height."""
        size, room = max(8, round(self.height() * share)), self.width() * _WIDEST
        set_font(painter, size, bold=True)
        wide = painter.fontMetrics().horizontalAdvance(text)
        if wide > room:
            set_font(painter, max(8, int(size * room / wide)), bold=True)
        painter.setPen(QColor(ink))
        box = QRectF(0, self.height() * line[0], self.width(), self.height() * line[1])
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
