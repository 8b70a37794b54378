"""Grid of moving pictures from which a robot is chosen."""

from collections.abc import Mapping

from PySide6.QtCore import QRect, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.previews.moving_picture import MovingPicture
from app.previews.picture_cards import PictureCard, PictureCards
from app.style import theme
from app.style.layouts import tab_order
from app.style.painting import narrow, set_font

_WIDTH, _GAP, _MARGIN, _TEXT, _RADIUS = 86, 8, 6, 34, 10
_WRAPPED = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap


class RobotCard(PictureCard):
    """One robot: a picture with its name below, framed if it is chosen, with a second frame inside while it has the focus."""

    def __init__(self, title: str, parent: QWidget) -> None:
        side = _WIDTH - 2 * _MARGIN
        super().__init__(title, MovingPicture(), QRect(_MARGIN, _MARGIN, side, side), parent)
        self.title = title
        self.setToolTip(title)
        self.setCheckable(True)
        self.setFixedSize(_WIDTH, _WIDTH + _TEXT)

    def set_error(self, sentence: str) -> None:
        super().set_error("No picture")
        self.setToolTip(f"{self.title}: {sentence}")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, palette = QPainter(self), theme.palette()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        edge = palette.blue if self.isChecked() else palette.muted if self.underMouse() else palette.line
        width = 2 if self.isChecked() else 1
        painter.setPen(QPen(QColor(edge), width))
        painter.setBrush(QColor(palette.checked if self.isChecked() else palette.panel))
        inset = width / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), _RADIUS, _RADIUS)
        if self.hasFocus():
            painter.setPen(QPen(QColor(palette.text), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(3, 3, -3, -3), _RADIUS - 2, _RADIUS - 2)
        set_font(painter, 12)
        painter.setPen(QColor(palette.text))
        place = QRect(4, self.height() - _TEXT - 1, self.width() - 8, _TEXT)
        painter.drawText(place, _WRAPPED, narrow(painter, self.title, place.width()))
        self.picture.draw(painter, self.picture_rect, _RADIUS - 3)
        painter.end()


class RobotPicker(PictureCards):
    """Cards in as many columns as fit. Tab reaches the chosen card, and arrow keys choose another.

    chosen: name of the robot

    Signals:
        robot_chosen(str): name of the robot that the person has chosen.
    """

    robot_chosen = Signal(str)

    def __init__(self, robots: Mapping[str, str]) -> None:
        """robots: titles by name"""
        super().__init__()
        self.setAccessibleName("Robots")
        self._cards: dict[str, RobotCard] = {}
        self.chosen = ""
        for name, title in robots.items():
            self.add(name, title)

    @property
    def cards(self) -> dict[str, RobotCard]:
        return self._cards

    def add(self, name: str, title: str) -> None:
        """Add a robot, unless it is there already."""
        if name not in self._cards:
            card = self._cards[name] = RobotCard(title, self)
            card.clicked.connect(lambda: self._on_clicked(name))
            card.setVisible(True)
            if len(self._cards) > 1:
                tab_order(*list(self._cards.values())[-2:])
            self._place()

    def choose(self, name: str) -> None:
        """Show a robot as the chosen one; `robot_chosen` is not emitted."""
        self.chosen = name
        for other, card in self.cards.items():
            card.setChecked(other == name)
            card.setFocusPolicy(Qt.FocusPolicy.StrongFocus if other == name else Qt.FocusPolicy.ClickFocus)

    def focus(self) -> None:
        if self.chosen in self.cards:
            self.cards[self.chosen].setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        names, columns = list(self.cards), self._columns()
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -columns,
            Qt.Key.Key_Down: columns,
        }
        step = steps.get(Qt.Key(event.key()))
        if step is None or self.chosen not in names:
            super().keyPressEvent(event)
            return
        target = names.index(self.chosen) + step
        if 0 <= target < len(names):
            self._on_clicked(names[target])
            self.focus()

    def _on_clicked(self, name: str) -> None:
        changed = name != self.chosen
        self.choose(name)
        if changed:
            self.robot_chosen.emit(name)

    def _columns(self) -> int:
        return max(1, (self.width() + _GAP) // (_WIDTH + _GAP))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    def _place(self) -> None:
        columns = self._columns()
        for number, card in enumerate(self.cards.values()):
            row, column = divmod(number, columns)
            card.move(column * (_WIDTH + _GAP), row * (card.height() + _GAP))
        rows = -(-len(self.cards) // columns)
        self.setFixedHeight(rows * (_WIDTH + _TEXT + _GAP) - _GAP)
