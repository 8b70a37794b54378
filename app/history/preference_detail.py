"""One answer in detail: both clips in step, and buttons to change the choice."""

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QFrame, QPushButton, QStackedWidget, QWidget

from app.clips.clip_pair import ClipPair
from app.clips.playback_keys import bind_playback
from app.history.preference_text import CHOICES, notes, when
from app.keys.key_map import KeyMap, key_symbol
from app.keys.shortcuts import bind
from app.labelling.guests import name_of
from app.labelling.pair_queue import Pair
from app.style.empty_state import EmptyState
from app.style.labels import label, literal, set_property, tab_button
from app.style.layouts import column, row
from core.preferences.store import PreferenceSummary
from core.types import Choice

LOADING_CLIPS = "Loading the clips", "This takes a second or two."


class PreferenceDetail(QFrame):
    """Pane with one answer. The labelling keys change it only while this pane has the focus: in the list the arrows move.

    row: the shown answer; None if there is none

    Signals:
        choice_requested(object): change the shown answer to this Choice.
        list_requested(): the focus is to return to the list.
    """

    choice_requested = Signal(object)
    list_requested = Signal()

    def __init__(self, keys: KeyMap) -> None:
        super().__init__()
        self.setObjectName("pane")
        self.setAccessibleName("The selected answer")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.row: PreferenceSummary | None = None
        self._keys, self._message = keys, ""
        self._unreadable = False
        self._requested: Choice | None = None
        """Choice that is on its way to the disk; None if `row` has the latest."""
        self.title, self.note = label("answerTitle", wrap=True), label("caption", wrap=True)
        self.clips, self.empty, self.place = ClipPair(), EmptyState(), QStackedWidget()
        for clip in self.clips.findChildren(QWidget):
            clip.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys are for the pane, which shows when it takes them
        self.place.addWidget(self.empty)
        self.place.addWidget(self.clips)
        self.choices = {choice: self._make_button(choice) for choice in CHOICES}
        buttons = row(*self.choices.values(), spacing=10)
        column(self.title, (self.place, 1), buttons, self.note, of=self, margins=(16, 14, 16, 14), spacing=12)
        bind(self, [(("Esc",), self.list_requested.emit)])
        bind(self, [(keys.keys_for(choice), partial(self._on_chosen, choice)) for choice in Choice])
        bind_playback(self, self.clips, keys)
        self.show_nothing()

    def _make_button(self, choice: Choice) -> QPushButton:
        key = [key_symbol(key) for key in self._keys.keys_for(choice)[:1]]
        made = tab_button(literal("  ".join([*key, CHOICES[choice]])))
        made.setCheckable(True)
        made.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # each choice has its key, and Space is for the clips
        made.setAccessibleName(CHOICES[choice])
        made.clicked.connect(lambda: self._on_chosen(choice))
        return made

    def show_nothing(self) -> None:
        self.row, self._message = None, ""
        self.title.setText("")
        self.show_reason("Select an answer", "Its clips play here, and you can change its choice.")

    def show_answer(self, row: PreferenceSummary) -> None:
        """Show an answer; its clips follow with `show_pair`. The clips of the same answer stay on screen."""
        same = self.row is not None and self.row.id == row.id
        self.row, self._message = row, self._message if same else ""
        self._unreadable = self._unreadable and same
        if not same or row.choice == self._requested:
            self._requested = None
        self._update()
        if not same:
            self.show_wait(*LOADING_CLIPS)

    def show_wait(self, headline: str, detail: str) -> None:
        """Show why no clips play yet; a damaged answer keeps its own reason."""
        if not self._unreadable:
            self.show_reason(headline, detail)

    def show_pair(self, pair: Pair) -> None:
        self._unreadable = False  # a copy of the answer may have been put back
        self.clips.show_pair(pair)
        self.place.setCurrentWidget(self.clips)
        self._update()

    def show_unreadable(self, sentence: str) -> None:
        self._unreadable = True
        self.show_reason("This answer can't be shown", sentence)

    def show_reason(self, headline: str, detail: str) -> None:
        """Show the reason why no clips play, in their place."""
        self.clips.show_pair(None)
        self.empty.set_message(headline, detail)
        self.place.setCurrentWidget(self.empty)
        self._update()

    def show_refusal(self, sentence: str) -> None:
        """Show why a change could not be saved."""
        self._requested = None
        self.show_message(sentence)

    def show_message(self, text: str) -> None:
        """Show a message below the choices until another answer is shown."""
        self._message = text
        self._update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._update()

    def _update(self) -> None:
        row, reason = self.row, self._reason_not_to_change()
        set_property(self, "listening", self.hasFocus() and not reason)
        for choice, made in self.choices.items():
            made.setEnabled(not reason)
            made.setChecked(row is not None and row.choice == choice)
        if row is None:
            self.note.setText("")
            return
        self.title.setText("  ·  ".join([f"Answer {row.id}", when(row), name_of(row.labeller), *notes(row)]))
        arrows = " ".join(key_symbol(key) for choice in Choice for key in self._keys.keys_for(choice)[:1])
        help_text = f"To change this answer, press Enter, then {arrows}."
        if self.hasFocus():
            help_text = f"{arrows} change this answer; Esc returns to the list."
        self.note.setText(reason or self._message or help_text)

    def _reason_not_to_change(self) -> str:
        """A sentence; '' if the answer can be changed."""
        row = self.row
        if row is None:
            return "Select an answer."
        if self._unreadable:
            return "An answer that can't be shown can't be changed."
        if row.withdrawn:
            return "This answer was undone: it no longer counts and can't be changed."
        if row.repeats is not None:
            return (
                f"This answer repeats answer {row.repeats} and is not trained on: change answer {row.repeats} instead."
            )
        return ""

    def _on_chosen(self, choice: Choice) -> None:
        self._update()  # the click has checked the button, but the answer changes only once it is on disk
        if self.row is None or self._reason_not_to_change() or choice == (self._requested or self.row.choice):
            return
        self._requested = choice
        self.choice_requested.emit(choice)
