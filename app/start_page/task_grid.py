"""The catalogue as a grid of cards with as many columns as fit."""

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from app.start_page.previews import FPS, Preview
from app.start_page.task_card import LEAST_WIDTH, TaskCard
from core.tasks.base import Task

_GAP, _EDGE = 14, 4


class TaskGrid(QWidget):
    """Tab reaches the card focused last; arrow keys, Home and End move between cards. Plays only while visible.

    Signals:
        chosen(str): task whose card was clicked or chosen with Enter.
    """

    chosen = Signal(str)

    def __init__(self, tasks: Iterable[Task], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Tasks")
        self.cards = {task.name: TaskCard(task, self) for task in tasks}
        self.area: QScrollArea | None = None
        """Scroll area that contains the grid; it keeps the focused card visible."""
        self.columns, self._frame = 1, 0
        self.clock = QTimer(self, interval=round(1000 / FPS))
        self.clock.timeout.connect(self._on_tick)
        for name, card in self.cards.items():
            card.clicked.connect(lambda _=False, task=name: self.chosen.emit(task))
            card.installEventFilter(self)
        self._set_tab_stop(next(iter(self.cards.values())))

    def missing(self) -> list[str]:
        """Tasks without a preview and without an error."""
        return [name for name, card in self.cards.items() if card.preview is None and not card.error]

    def set_preview(self, task: str, preview: Preview) -> None:
        if task in self.cards:
            self.cards[task].set_preview(preview)
            self._update_clock()

    def set_error(self, task: str, sentence: str) -> None:
        if task in self.cards:
            self.cards[task].set_error(sentence)

    def free_previews(self) -> None:
        """Free the memory of the previews; request those in `missing` before showing the grid again."""
        for card in self.cards.values():
            if card.preview is not None:
                card.set_preview(None)
        self._update_clock()

    def focus_card(self, task: str = "") -> None:
        """Focus the card of this task, else the card focused last."""
        (self.cards.get(task) or self._tab_stop).setFocus(Qt.FocusReason.OtherFocusReason)

    def resizeEvent(self, event: QResizeEvent) -> None:
        room = self.width() - 2 * _EDGE + _GAP
        self.columns = max(1, room // (LEAST_WIDTH + _GAP))
        width, bottom = room // self.columns - _GAP, 0
        for number, card in enumerate(self.cards.values()):
            row, column = divmod(number, self.columns)
            card.set_width(width)
            card.move(_EDGE + column * (width + _GAP), _EDGE + row * (card.height() + _GAP))
            bottom = card.geometry().bottom()
        self.setMinimumHeight(bottom + 1 + _EDGE)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn and isinstance(watched, TaskCard):
            self._set_tab_stop(watched)
            if self.area is not None:
                self.area.ensureWidgetVisible(watched, 0, _GAP)
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        cards = list(self.cards.values())
        here = cards.index(self._tab_stop)
        in_last_row = here // self.columns == (len(cards) - 1) // self.columns
        targets = {
            Qt.Key.Key_Left: here - 1,
            Qt.Key.Key_Right: here + 1,
            Qt.Key.Key_Up: here - self.columns,
            Qt.Key.Key_Down: here if in_last_row else min(here + self.columns, len(cards) - 1),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(cards) - 1,
        }
        target = targets.get(Qt.Key(event.key()))
        if target is None:
            super().keyPressEvent(event)
        elif 0 <= target < len(cards):
            cards[target].setFocus(Qt.FocusReason.OtherFocusReason)

    def _set_tab_stop(self, card: TaskCard) -> None:
        """Make this card the only one in the grid that Tab reaches."""
        for other in self.cards.values():
            other.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        card.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._tab_stop = card

    def showEvent(self, event: QShowEvent) -> None:
        self._update_clock()

    def hideEvent(self, event: QHideEvent) -> None:
        self._update_clock()

    def _update_clock(self) -> None:
        if self.isVisible() and any(card.preview for card in self.cards.values()):
            if not self.clock.isActive():
                self.clock.start()
        else:
            self.clock.stop()

    def _on_tick(self) -> None:
        if self.window().isMinimized():
            return
        self._frame += 1
        for card in self.cards.values():
            card.show_frame(self._frame)
