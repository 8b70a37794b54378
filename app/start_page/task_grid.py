"""Grid of the cards of all tasks, in groups and in as many columns as fit; the first card is for a new behaviour."""

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent

from app.previews.picture_cards import PictureCards
from app.start_page.goals import effort, goal
from app.start_page.task_card import HEIGHT, LEAST_WIDTH, Card, NewBehaviourCard, TaskCard
from app.style.labels import label
from app.style.layouts import tab_order
from core.behaviours.shipped import shipped_behaviours
from core.tasks import PAPER_ROBOTS, get_task

_GAP, _EDGE, _HEADING = 14, 4, 34
OWN, SHIPPED, ROBOTS, GAMES = "Your behaviours", "Behaviours", "Robots", "Games"
SETTINGS = "Settings…"
EDIT, DUPLICATE, EXPORT, DELETE = "Edit…", "Duplicate", "Export…", "Move to Trash"
EDIT_COPY = "Edit a copy…"
_OWN_ACTIONS, _SHIPPED_ACTIONS = (SETTINGS, EDIT, DUPLICATE, EXPORT, DELETE), (SETTINGS, EDIT_COPY, EXPORT)


class TaskGrid(PictureCards):
    """Grid of cards. Tab reaches the card focused last; arrow keys, Home and End move between cards. Plays only while visible.

    A task is named as in Config.task. cards: of all tasks; new_card: the first one; no_match: shown if no card matches

    Signals:
        chosen(str): task whose card was clicked or chosen with Enter.
        new_requested(): the first card was chosen.
        action_chosen(str, str): task, and the action that was chosen in the menu of its card.
    """

    chosen = Signal(str)
    new_requested = Signal()
    action_chosen = Signal(str, str)

    def __init__(self, tasks: Iterable[str]) -> None:
        """tasks: the shipped ones"""
        super().__init__()
        self.setAccessibleName("Tasks")
        self.new_card = NewBehaviourCard(self)
        self.new_card.clicked.connect(lambda: self.new_requested.emit())
        self.new_card.installEventFilter(self)
        self._tab_stop: Card = self.new_card
        self._words = ""
        self.no_match = label("settingHelp", "No matching tasks.")
        self.no_match.setParent(self)
        self.headings = {title: label("sectionName", title) for title in (OWN, SHIPPED, ROBOTS, GAMES)}
        for heading in self.headings.values():
            heading.setParent(self)
        self._groups: dict[str, dict[str, TaskCard]] = {title: {} for title in self.headings}
        for task in tasks:
            group = GAMES if get_task(task).pictures else ROBOTS if task in PAPER_ROBOTS else SHIPPED
            self._groups[group][task] = self._make_card(group, task)
        self.columns = 1
        self._set_tab_stop(self.new_card)

    @property
    def cards(self) -> dict[str, TaskCard]:
        return {task: card for group in self._groups.values() for task, card in group.items()}

    def set_own(self, tasks: Iterable[str]) -> None:
        """Show the person's own behaviours, given as texts of behaviour files."""
        old, wanted = self._groups[OWN], list(dict.fromkeys(tasks))
        own = self._groups[OWN] = {task: old[task] if task in old else self._make_card(OWN, task) for task in wanted}
        tab_order(self.new_card, *own.values())
        for task, card in old.items():
            if task not in wanted:
                card.hide()
                card.deleteLater()
        self._place()

    def search(self, words: str) -> None:
        """Show only the cards that have all of these words in their texts or their heading."""
        self._words = words
        self._place()

    def _make_card(self, group: str, name: str) -> TaskCard:
        task = get_task(name)
        actions = _OWN_ACTIONS if group == OWN else _SHIPPED_ACTIONS if name in shipped_behaviours() else (SETTINGS,)
        texts = task.title, goal(task), effort(task), task.instruction
        card = TaskCard(texts, actions, partial(self.action_chosen.emit, name), self)
        card.clicked.connect(lambda: self.chosen.emit(name))
        card.installEventFilter(self)
        card.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        return card

    def focus_card(self, task: str = "") -> None:
        """Focus the card of this task, else the card focused last."""
        (self.cards.get(task) or self._tab_stop).setFocus(Qt.FocusReason.OtherFocusReason)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    def _matches(self, group: str, card: Card) -> bool:
        text = f"{group} {card.text()} {card.goal} {card.about}".lower()
        return all(word in text for word in self._words.lower().split())

    def _rows(self) -> list[tuple[str, list[Card]]]:
        """Return the rows as they are placed, each with its heading or ''; without a search, `new_card` is first."""
        rows, new = list[tuple[str, list[Card]]](), [] if self._words.split() else [self.new_card]
        for title, group in self._groups.items():
            cards: list[Card] = [*new, *(card for card in group.values() if self._matches(title, card))]
            if not group or not cards:
                continue
            new = []
            for start in range(0, len(cards), self.columns):
                rows.append(("" if start else title, cards[start : start + self.columns]))
        return rows

    def _place(self) -> None:
        room = self.width() - 2 * _EDGE + _GAP
        self.columns = max(1, room // (LEAST_WIDTH + _GAP))
        width, top, rows = room // self.columns - _GAP, _EDGE, self._rows()
        titles, shown = {title for title, _ in rows}, [card for _, row in rows for card in row]
        for title, heading in self.headings.items():
            heading.setVisible(title in titles)
        for card in (self.new_card, *self.cards.values()):
            card.setVisible(card in shown)
        self.no_match.setVisible(not rows)
        self.no_match.setGeometry(_EDGE, top, room - _GAP, _HEADING)
        for title, row in rows:
            if title:
                heading = self.headings[title]
                heading.setGeometry(_EDGE, top, room - _GAP, _HEADING - 6)
                top += _HEADING
            for column, card in enumerate(row):
                card.set_width(width)
                card.move(_EDGE + column * (width + _GAP), top)
            top += HEIGHT + _GAP
        self.setMinimumHeight(max(0, top - _GAP + 1 + _EDGE))
        if self._tab_stop not in shown:
            self._set_tab_stop(next(iter(shown), self.new_card))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn and isinstance(watched, Card):
            self._set_tab_stop(watched)
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        rows = [row for _, row in self._rows()]
        cards = [card for row in rows for card in row]
        if self._tab_stop not in cards:
            super().keyPressEvent(event)
            return
        here = cards.index(self._tab_stop)
        line = next(number for number, row in enumerate(rows) if self._tab_stop in row)
        column = rows[line].index(self._tab_stop)
        match event.key():
            case Qt.Key.Key_Left:
                target = cards[max(0, here - 1)]
            case Qt.Key.Key_Right:
                target = cards[min(len(cards) - 1, here + 1)]
            case Qt.Key.Key_Up | Qt.Key.Key_Down:
                other = rows[min(len(rows) - 1, max(0, line + (1 if event.key() == Qt.Key.Key_Down else -1)))]
                target = other[min(column, len(other) - 1)]
            case Qt.Key.Key_Home:
                target = cards[0]
            case Qt.Key.Key_End:
                target = cards[-1]
            case _:
                super().keyPressEvent(event)
                return
        target.setFocus(Qt.FocusReason.OtherFocusReason)

    def _set_tab_stop(self, card: Card) -> None:
        """Make this card the only one in the grid that Tab reaches."""
        self._tab_stop.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        card.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._tab_stop = card
