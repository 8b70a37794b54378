"""The catalogue as cards, in as many columns as fit; arrows go from card to card."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from app.start_page.previews import FPS, Preview
from app.start_page.task_card import LEAST_WIDTH, TaskCard
from core.tasks.base import Task

_GAP, _EDGE = 14, 4


class TaskGrid(QWidget):
    """One stop for Tab, whichever card was looked at last; within it arrows, Home and End. It moves only while seen.

    Signals:
        chosen(str): the card of this task was clicked, or Enter was pressed on it.
    """

    chosen = Signal(str)

    def __init__(self, tasks: Iterable[Task], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Tasks")
        self.cards = {task.name: TaskCard(task, self) for task in tasks}
        self.area: QScrollArea | None = None
        """Where the grid is scrolled in: it brings the card with the focus into sight."""
        self._columns, self._frame = 1, 0
        self._clock = QTimer(self, interval=round(1000 / FPS))
        self._clock.timeout.connect(self._on_tick)
        for name, card in self.cards.items():
            card.clicked.connect(lambda _=False, task=name: self.chosen.emit(task))
            card.installEventFilter(self)
        self._stop_at(next(iter(self.cards.values())))

    @property
    def moving(self) -> bool:
        return self._clock.isActive()

    def missing(self) -> list[str]:
        """Tasks that have no picture yet, nor a reason why not."""
        return [name for name, card in self.cards.items() if card.preview is None and not card.problem]

    def set_preview(self, task: str, preview: Preview) -> None:
        if task in self.cards:
            self.cards[task].set_preview(preview)
            self._settle()

    def set_problem(self, task: str, sentence: str) -> None:
        if task in self.cards:
            self.cards[task].set_problem(sentence)

    def let_go(self) -> None:
        """Frees the pictures' memory; whoever shows the grid again asks for what is missing."""
        for card in self.cards.values():
            if card.preview is not None:
                card.set_preview(None)
        self._settle()

    def focus_card(self, task: str = "") -> None:
        """The card of this task, or the one that was looked at last."""
        (self.cards.get(task) or self._stop).setFocus(Qt.FocusReason.OtherFocusReason)

    def resizeEvent(self, event: QResizeEvent) -> None:
        room = self.width() - 2 * _EDGE + _GAP
        self._columns = max(1, room // (LEAST_WIDTH + _GAP))
        width, bottom = room // self._columns - _GAP, 0
        for number, card in enumerate(self.cards.values()):
            row, column = divmod(number, self._columns)
            card.set_width(width)
            card.move(_EDGE + column * (width + _GAP), _EDGE + row * (card.height() + _GAP))
            bottom = card.geometry().bottom()
        self.setMinimumHeight(bottom + 1 + _EDGE)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn and isinstance(watched, TaskCard):
            self._stop_at(watched)
            if self.area is not None:
                self.area.ensureWidgetVisible(watched, 0, _GAP)
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        cards = list(self.cards.values())
        here = cards.index(self._stop)
        targets = {
            Qt.Key.Key_Left: here - 1,
            Qt.Key.Key_Right: here + 1,
            Qt.Key.Key_Up: here - self._columns,
            Qt.Key.Key_Down: min(here + self._columns, len(cards) - 1) if self._row_below(here) else here,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(cards) - 1,
        }
        target = targets.get(Qt.Key(event.key()))
        if target is None:
            super().keyPressEvent(event)
        elif 0 <= target < len(cards):
            cards[target].setFocus(Qt.FocusReason.OtherFocusReason)

    def _row_below(self, here: int) -> bool:
        return here // self._columns < (len(self.cards) - 1) // self._columns

    def _stop_at(self, card: TaskCard) -> None:
        """Tab comes to this card, and from it to what is behind the grid."""
        for other in self.cards.values():
            other.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        card.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._stop = card

    def showEvent(self, event: QShowEvent) -> None:
        self._settle()

    def hideEvent(self, event: QHideEvent) -> None:
        self._settle()

    def _settle(self) -> None:
        if self.isVisible() and any(card.preview for card in self.cards.values()):
            if not self._clock.isActive():
                self._clock.start()
        else:
            self._clock.stop()

    def _on_tick(self) -> None:
        if self.window().isMinimized():
            return
        self._frame += 1
        for card in self.cards.values():
            card.show_frame(self._frame)
