"""Cards of the start page: one for each task, with moving picture, goal and menu, and one for a new behaviour."""

from collections.abc import Callable
from html import escape

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QColor,
    QContextMenuEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.previews.moving_picture import MovingPicture
from app.previews.picture_cards import PictureCard
from app.previews.previews import Preview
from app.style import theme
from app.style.labels import ENTER, tip
from app.style.painting import WRAPPED, narrow, set_font, write_paragraph

LEAST_WIDTH, HEIGHT = 340, 132
_MARGIN, _RADIUS, _LINE = 10, 12, 18
_SHOWN = {
    True: "The picture shows the trained behaviour.",
    False: "The picture was recorded before any training.",
}


class Card(PictureCard):
    """Card with a picture and texts to its right. A placeholder is shown until the preview arrives, or an error.

    menu_room: width and height in pixels of the upper right corner that the texts leave free
    """

    menu_room = QSize(0, 0)

    def __init__(self, title: str, goal: str, effort: str, about: str, parent: QWidget | None = None) -> None:
        """goal: one sentence; effort: small line at the bottom; about: more, for the tooltip and screen readers"""
        side = HEIGHT - 2 * _MARGIN
        place = QRect(_MARGIN, _MARGIN, side, side)
        super().__init__(title, MovingPicture("Loading preview…", badge=11), place, parent)
        self.goal, self.effort, self.about = goal, effort, about
        self.setText(title)
        self.setShortcut(QKeySequence())  # an & in a title names no key
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)  # or Qt would repaint the background at each frame
        self._describe("Its preview is loading.")

    def set_preview(self, preview: Preview | None) -> None:
        super().set_preview(preview)
        self._describe(_SHOWN[preview.shows_goal] if preview else "")

    def set_error(self, sentence: str) -> None:
        super().set_error(sentence)
        self._describe(sentence)

    def _describe(self, state: str) -> None:
        text = " ".join(
            part for part in (self.goal, f"{self.effort}." if self.effort else "", self.about, state) if part
        )
        self.setAccessibleDescription(text)
        self.setToolTip(f"<p><b>{escape(self.text())}</b></p>{tip(text)}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER:
            self.click()
        else:
            super().keyPressEvent(event)

    def set_width(self, width: int) -> None:
        self.setFixedSize(width, HEIGHT)

    def sizeHint(self) -> QSize:
        return QSize(LEAST_WIDTH, HEIGHT)

    @property
    def _text_rect(self) -> QRect:
        left = self.picture_rect.right() + 14
        return QRect(left, _MARGIN, self.width() - left - _MARGIN, HEIGHT - 2 * _MARGIN)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        if not self.picture_rect.contains(event.rect()):  # otherwise only the next frame is due
            painter.fillRect(self.rect(), QColor(theme.palette().background))
            self._draw_card(painter)
            self._draw_texts(painter)
        self._draw_picture(painter)
        painter.end()

    def _draw_picture(self, painter: QPainter) -> None:
        painter.fillRect(self.picture_rect, QColor(theme.palette().line if self.isDown() else theme.palette().panel))
        self.picture.draw(painter, self.picture_rect, _RADIUS - 4)

    def _draw_card(self, painter: QPainter) -> None:
        palette, width = theme.palette(), 2.0 if self.hasFocus() else 1.0
        edge = palette.blue if self.hasFocus() else palette.muted if self.underMouse() else palette.line
        painter.setPen(QPen(QColor(edge), width))
        painter.setBrush(QColor(palette.line if self.isDown() else palette.panel))
        inset = width / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), _RADIUS, _RADIUS)

    def _draw_texts(self, painter: QPainter) -> None:
        room, palette = self._text_rect, theme.palette()
        set_font(painter, 16)
        painter.setPen(QColor(palette.text))
        top = room.adjusted(0, 0, -self.menu_room.width(), 0)
        words = narrow(painter, self.text(), top.width())
        title = painter.boundingRect(top, WRAPPED, words)
        painter.drawText(top, WRAPPED, words)
        set_font(painter, 13)
        painter.setPen(QColor(palette.muted))
        below = max(title.height() + 4, self.menu_room.height())
        write_paragraph(painter, room.adjusted(0, below, 0, -_LINE), self.goal)
        set_font(painter, 12)
        painter.setPen(QColor(palette.blue))
        painter.drawText(room, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, self.effort)


class NewBehaviourCard(Card):
    """Card that opens the page for a new behaviour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        goal = "Choose a robot, write one sentence, and teach it."
        super().__init__("A behaviour of your own", goal, "", "", parent)
        self._describe("")

    def _draw_picture(self, painter: QPainter) -> None:
        palette, area = theme.palette(), QRectF(self.picture_rect)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette.background))
        painter.drawRoundedRect(area, _RADIUS - 4, _RADIUS - 4)
        painter.setPen(QPen(QColor(palette.blue), 4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        middle, arm = area.center(), area.width() / 7
        painter.drawLine(middle - QPoint(round(arm), 0), middle + QPoint(round(arm), 0))
        painter.drawLine(middle - QPoint(0, round(arm)), middle + QPoint(0, round(arm)))


class TaskCard(Card):
    """Card of a task. A click starts a session; its button, a right click or the menu key opens its menu."""

    menu_room = QSize(56, 28)

    def __init__(
        self,
        texts: tuple[str, str, str, str],
        actions: tuple[str, ...],
        choose: Callable[[str], object],
        parent: QWidget | None = None,
    ) -> None:
        """texts: of the card; actions: texts of the menu; choose: called with the one that was chosen"""
        super().__init__(*texts, parent)
        self.menu = QMenu(self)
        for text in actions:
            action = QAction(text, self)
            action.triggered.connect(lambda _=False, text=text: choose(text))
            self.menu.addAction(action)
        self.menu_button = QToolButton(self)
        self.menu_button.setText("⋯")
        self.menu_button.setObjectName("cardMenu")
        self.menu_button.setAccessibleName(f"Menu of {self.text()}")
        self.menu_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the menu key opens it too
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setMenu(self.menu)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu.popup(event.globalPos())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.menu_button.adjustSize()
        self.menu_button.move(self.width() - self.menu_button.width() - _MARGIN + 2, _MARGIN - 2)
