"""Prediction for the pair that was just answered, shown briefly over the next one."""

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.style import theme
from app.style.painting import LEFT, RIGHT, set_font, write_line

_HEIGHT, _WIDEST, _BAR, _MARGIN = 68, 460, 14, 16
_TITLE = "Predicted answer to the last pair"


class PredictionOverlay(QWidget):
    """Bar split between left and right at the ensemble's mean, with a tick for each member.

    It is at the top of the clips, where there is sky: the robots are at the bottom.
    """

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("Predicted answer")
        self.members: tuple[float, ...] = ()
        self.hide()

    @property
    def left(self) -> float:
        """Mean P[left preferred]."""
        return sum(self.members) / len(self.members)

    def show_prediction(self, members: tuple[float, ...]) -> None:
        """members: P[left preferred] of each ensemble member; () hides the overlay"""
        self.members = members
        if not members:
            self.hide()
            return
        left, right = self._percent()
        self.setAccessibleDescription(f"left {left}, right {right}")
        self.place()
        self.raise_()
        self.show()
        self.update()

    def place(self) -> None:
        area = self._over.rect()
        width = min(_WIDEST, area.width())
        self.setGeometry((area.width() - width) // 2, _MARGIN, width, _HEIGHT)

    def _percent(self) -> tuple[str, str]:
        left = round(100 * self.left)
        return f"{left}%", f"{100 - left}%"

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(theme.palette().line))
        painter.setBrush(QColor(theme.palette().background))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 10, 10)
        inner = self.rect().adjusted(16, 8, -16, -8)
        painter.setPen(QColor(theme.palette().muted))
        painter.drawText(inner, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter, _TITLE)
        self._draw_shares(painter, inner)
        painter.end()

    def _draw_shares(self, painter: QPainter, inner: QRect) -> None:
        left, right = self._percent()
        foot = QRect(inner.left(), inner.bottom() - 26, inner.width(), 26)
        set_font(painter, 17)
        write_line(painter, foot, f"left {left}", theme.palette().text, LEFT)
        write_line(painter, foot, f"right {right}", theme.palette().text, RIGHT)
        bar = QRectF(foot).adjusted(110, 0, -110, 0)
        bar.setHeight(_BAR)
        bar.moveCenter(QRectF(foot).center())
        left_part = QRectF(bar.left(), bar.top(), bar.width() * self.left, bar.height())
        painter.fillRect(bar, QColor(theme.palette().line))
        painter.fillRect(left_part, QColor(theme.palette().blue))
        painter.setPen(QColor(theme.palette().text))
        for chance in self.members:
            x = bar.left() + bar.width() * chance
            painter.drawLine(round(x), round(bar.top()) - 3, round(x), round(bar.bottom()) + 3)
