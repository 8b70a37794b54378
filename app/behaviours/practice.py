"""Practice: five pairs of clips of the robot, answered with the keys of a session, kept only if that is wanted."""

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPushButton, QWidget

from app.clips.clip_pair import ClipPair
from app.keys.commands import Command
from app.keys.key_button import pressed_key
from app.keys.key_map import key_symbol, load_key_map
from app.labelling.labelling import FLASH_MS
from app.labelling.pair_queue import Pair
from app.style.labels import label
from app.style.layouts import column, row
from core.types import Choice, Query

PAIRS = 5

Practised = tuple[tuple[Query, Choice], ...]


class Practice(QWidget):
    """Shows each pair once it is drawn, and takes one answer to it; the last answer can be undone.

    answers: queries with their choices so far

    Signals:
        ended(): go back to the page.
        start_requested(object): start the session with these answers, Practised; () for none.
    """

    ended = Signal()
    start_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._waiting: list[Pair] = []
        self._answers: list[tuple[Pair, Choice]] = []
        self._choices: dict[str, Choice] = {}
        self._undo_keys: tuple[str, ...] = ()
        self._instruction = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.flash_timer = QTimer(self, singleShot=True, interval=FLASH_MS)
        self.flash_timer.timeout.connect(self._show_next)
        self.count, self.instruction = label("pageTitle"), label("instruction", wrap=True)
        self.clips, self.hint = ClipPair(), label("settingHelp", wrap=True)
        self.back = QPushButton("Back")
        self.without = QPushButton("Start without these answers")
        self.keep = QPushButton("Start with these answers")
        self.keep.setObjectName("primary")
        self.back.clicked.connect(self.ended)
        self.without.clicked.connect(lambda: self.start_requested.emit(()))
        self.keep.clicked.connect(lambda: self.start_requested.emit(self.answers))
        for button in (self.back, self.without, self.keep):
            button.installEventFilter(self)
        foot = row((self.hint, 1), self.back, self.without, self.keep)
        parts = (self.count, self.instruction, (self.clips, 1), foot)
        column(*parts, of=self, margins=(30, 22, 30, 18), spacing=12)

    @property
    def answers(self) -> Practised:
        return tuple((pair.query, choice) for pair, choice in self._answers)

    @property
    def _done(self) -> bool:
        return len(self._answers) == PAIRS

    def begin(self, instruction: str) -> None:
        """Forget earlier answers and wait for the first pair."""
        self.flash_timer.stop()
        self._waiting, self._answers = [], []
        keys = load_key_map()
        self._undo_keys = keys.keys_for(Command.UNDO)
        self._choices = {key: choice for choice in Choice for key in keys.keys_for(choice)}
        self._instruction = instruction
        self.clips.show_pair(None)
        self._show()
        self.setFocus()

    def add(self, pair: Pair) -> None:
        """Take a pair that has been drawn."""
        self._waiting.append(pair)
        if self.clips.shown is None:
            self._show_next()

    def refuse(self, sentence: str) -> None:
        self.hint.setText(sentence)

    def leave(self) -> None:
        """Free the pictures."""
        self.flash_timer.stop()
        self._waiting = []
        self.clips.show_pair(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        choice = self._choice(event)
        if event.key() == Qt.Key.Key_Escape:
            self.ended.emit()
        elif pressed_key(event) in self._undo_keys:
            if not event.isAutoRepeat():
                self._undo()
        elif choice is not None and self.clips.shown is not None and not event.isAutoRepeat():
            self._answer(choice)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take answers while a button has the focus: there the keys would move it from one button to the next."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and self._choice(event) is not None:
            self.keyPressEvent(event)
            return True
        return super().eventFilter(watched, event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._takes(event):
            event.accept()  # these keys are the page's otherwise
            return True
        return super().event(event)

    def _takes(self, event: QKeyEvent) -> bool:
        known = event.key() == Qt.Key.Key_Escape or pressed_key(event) in self._undo_keys
        return known or self._choice(event) is not None

    def _choice(self, event: QKeyEvent) -> Choice | None:
        """Return the choice that this key makes, also on the keypad; None for any other key."""
        return self._choices.get(pressed_key(event))

    def _answer(self, choice: Choice) -> None:
        """Answer the pair on screen; ignored while the tick of the last answer is shown, and after the last pair."""
        if self.clips.shown is not None and not self.flash_timer.isActive() and not self._done:
            self._answers.append((self.clips.shown, choice))
            self.clips.flash(choice)
            self.flash_timer.start()

    def _undo(self) -> None:
        """Take the last answer back and show its pair again."""
        if not self._answers:
            return
        if self.clips.shown is not None and not self.flash_timer.isActive() and not self._done:
            self._waiting.insert(0, self.clips.shown)
        self.flash_timer.stop()
        self.clips.show_pair(self._answers.pop()[0])
        self._show()
        self.setFocus()

    def _show_next(self) -> None:
        """Show the next pair; the last one stays when all are answered."""
        if not self._done:
            self.clips.show_pair(self._waiting.pop(0) if self._waiting else None)
        self._show()

    def _show(self) -> None:
        for button in (self.keep, self.without):
            button.setVisible(self._done)
        if self._done:
            chosen = ", ".join(choice for _, choice in self._answers)
            self.count.setText("Practice finished")
            self.instruction.setText(f"Your answers: {chosen}. They are forgotten unless you start with them.")
            self.hint.setText("")
            self.keep.setFocus()
            return
        self.count.setText(f"Practice pair {len(self._answers) + 1} of {PAIRS}")
        keys = {choice: key_symbol(key) for key, choice in reversed(self._choices.items())}
        hints = [f"{keys[choice]} {choice}" for choice in Choice if choice in keys]
        hints += [f"{key_symbol(key)} undo" for key in self._undo_keys[:1]]
        kept = "Your answers are kept only if you start with them."
        self.hint.setText(f"{',  '.join(hints)}.  {kept}" if self.clips.shown else "Loading the next pair…")
        self.instruction.setText(self._instruction)
