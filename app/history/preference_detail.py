"""One answer from near: both clips in step, and the choices to change it to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.clips.clip_pair import ClipPair
from app.history.preference_text import CHOICES, notes, when
from app.keys.commands import SPEEDS, Command
from app.keys.key_map import KeyMap, key_symbol
from app.labelling.pair_queue import Pair
from app.style.empty_state import EmptyState
from app.style.labels import button, label
from core.preferences.records import PreferenceSummary
from core.types import Choice

_NOTHING = ("Choose an answer", "Its two clips play here, and it can be changed.")


class PreferenceDetail(QFrame):
    """The keys of the labelling page change the answer only while the pane has the focus: in the list the arrows move.

    Signals:
        choice_requested(object): the person gives the shown answer this Choice.
        list_requested(): back to the list.
    """

    choice_requested = Signal(object)
    list_requested = Signal()

    def __init__(self, keys: KeyMap, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pane")
        self.setAccessibleName("The chosen answer")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.row: PreferenceSummary | None = None
        self._keys, self._said = keys, ""
        self._unreadable = False
        self.title, self.note = label("answerTitle"), label("caption", wrap=True)
        self.clips, self.empty, self.place = ClipPair(), EmptyState(), QStackedWidget()
        self.place.addWidget(self.empty)
        self.place.addWidget(self.clips)
        self.choices: dict[Choice, QPushButton] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(12)
        column.addWidget(self.title)
        column.addWidget(self.place, 1)
        column.addLayout(self._make_choices())
        column.addWidget(self.note)
        self._make_keys()
        self.show_nothing()

    def _make_choices(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(10)
        for choice, words in CHOICES.items():
            shown = [key_symbol(key) for key in self._keys.keys_for(choice)[:1]]
            made = button("  ".join([*shown, words]))
            made.setCheckable(True)
            made.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # each has its key here, and Space is for the clips
            made.setAccessibleName(words)
            made.clicked.connect(lambda _, wanted=choice: self._on_chosen(wanted))
            self.choices[choice] = made
            row.addWidget(made)
        return row

    def _make_keys(self) -> None:
        within = Qt.ShortcutContext.WidgetWithChildrenShortcut
        slots: dict[str, Callable[[], object]] = {"Esc": self.list_requested.emit}
        slots |= {key: partial(self._on_chosen, choice) for choice in Choice for key in self._of(choice)}
        for key, slot in (slots | self.playback_keys()).items():
            QShortcut(QKeySequence(key), self, context=within).activated.connect(slot)

    def playback_keys(self) -> dict[str, Callable[[], object]]:
        """What the keys of the clips do, wherever in the page they are to work."""
        wanted: dict[Command, Callable[[], object]] = {
            Command.PLAYBACK: self.clips.toggle_playback,
            Command.PREVIOUS_FRAME: partial(self.clips.step, -1),
            Command.NEXT_FRAME: partial(self.clips.step, 1),
            **{command: partial(self.clips.set_speed, speed) for command, speed in SPEEDS.items()},
        }
        return {key: slot for command, slot in wanted.items() for key in self._of(command)}

    def _of(self, meaning: Choice | Command) -> tuple[str, ...]:
        return self._keys.keys_for(meaning)

    def show_nothing(self) -> None:
        self.row, self._said = None, ""
        self.title.setText("")
        self.clips.show_pair(None)
        self._tell(*_NOTHING)

    def show_answer(self, row: PreferenceSummary) -> None:
        """The clips follow with `show_pair`; the same answer again keeps those on screen."""
        same = self.row is not None and self.row.id == row.id
        self.row, self._said = row, self._said if same else ""
        self._unreadable = self._unreadable and same
        self._settle()
        if not same:
            self.clips.show_pair(None)
            self._tell("Drawing the clips", "A second or two.")

    def show_pair(self, pair: Pair) -> None:
        self.clips.show_pair(pair)
        self.place.setCurrentWidget(self.clips)

    def tell_unreadable(self, sentence: str) -> None:
        self._unreadable = True
        self.tell_why_not("This answer can't be shown", sentence)

    def tell_why_not(self, headline: str, detail: str) -> None:
        """In the place of the clips: they don't play."""
        self.clips.show_pair(None)
        self._tell(headline, detail)

    def say(self, text: str) -> None:
        """Under the choices, until another answer is shown."""
        self._said = text
        self._settle()

    def focusInEvent(self, event: object) -> None:
        self._settle()

    def focusOutEvent(self, event: object) -> None:
        self._settle()

    def _tell(self, headline: str, detail: str) -> None:
        self.empty.set_message(headline, detail)
        self.place.setCurrentWidget(self.empty)
        self._settle()

    def _settle(self) -> None:
        row, why_not = self.row, self._why_not()
        self.setProperty("listening", self.hasFocus() and not why_not)
        self.style().polish(self)  # the style sheet looks at `listening`
        for choice, made in self.choices.items():
            made.setEnabled(not why_not)
            made.setChecked(row is not None and row.choice == choice)
        if row is None:
            self.note.setText("")
            return
        details = [f"Answer {row.id}", when(row), row.labeller, *notes(row)]
        self.title.setText("  ·  ".join(details))
        arrows = " ".join(key_symbol(key) for choice in Choice for key in self._of(choice)[:1])
        ready = f"Press Enter, then {arrows}, to change this answer."
        if self.hasFocus():
            ready = f"{arrows} change this answer, Esc goes back to the list."
        self.note.setText(why_not or self._said or ready)

    def _why_not(self) -> str:
        """Why the answer can't be changed, in a sentence; '' where it can."""
        row = self.row
        if row is None:
            return "No answer is chosen."
        if self._unreadable:
            return "What can't be read can't be changed."
        if row.withdrawn:
            return "This answer was taken back: it counts no more, and can't be changed."
        if row.repeats is not None:
            return f"This answer only repeats number {row.repeats}, and is no label: change that one."
        return ""

    def _on_chosen(self, choice: Choice) -> None:
        self._settle()  # a click has set the button; the answer isn't changed before it is on disk
        if self.row is not None and not self._why_not() and self.row.choice != choice:
            self.choice_requested.emit(choice)
