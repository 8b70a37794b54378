"""Practice: five pairs of clips of the robot, answered as in a session. The person decides whether the answers are kept."""

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.clips.clip_pair import ClipPair
from app.clips.playback_keys import bind_playback
from app.keys.commands import KeyAction
from app.keys.key_hints import KeyHints
from app.keys.key_map import KeyMap, load_key_map
from app.keys.shortcuts import bind
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
        ended(): the person returns to the page.
        start_requested(object): start the session with these answers, Practised; () for none.
    """

    ended = Signal()
    start_requested = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[Pair] = []
        self._answers: list[tuple[Pair, Choice]] = []
        self._instruction, self._refusal = "", ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.flash_timer = QTimer(self, singleShot=True, interval=FLASH_MS)
        self.flash_timer.timeout.connect(self._show_next)
        self.count, self.instruction = label("pageTitle"), label("instruction", wrap=True, centred=True)
        self.clips, self.key_hints = ClipPair(), KeyHints(KeyMap())
        self.key_hints.action_requested.connect(self._run_action)
        self.hint = label("settingHelp", wrap=True)
        self.back = QPushButton("Back")
        self.without = QPushButton("Start without these answers")
        self.keep = QPushButton("Start with these answers")
        self.keep.setObjectName("primary")
        self.back.clicked.connect(self.ended)
        self.without.clicked.connect(lambda: self.start_requested.emit(()))
        self.keep.clicked.connect(lambda: self.start_requested.emit(self.answers))
        foot = row((self.hint, 1), self.back, self.without, self.keep)
        parts = (self.count, self.instruction, (self.clips, 1), self.key_hints, foot)
        column(*parts, of=self, margins=(30, 22, 30, 18), spacing=12)

    @property
    def answers(self) -> Practised:
        return tuple((pair.query, choice) for pair, choice in self._answers)

    @property
    def done(self) -> bool:
        """True once all pairs are answered."""
        return len(self._answers) == PAIRS

    def begin(self, instruction: str, again: bool = False) -> None:
        """Discard earlier answers and wait for the first pair. again: keep the answers if all pairs are answered"""
        self.flash_timer.stop()
        self._waiting, self._refusal = [], ""
        if not (again and self.done):
            self._answers = []
        keys = load_key_map()
        self.key_hints.set_keys(keys)
        for part in (self, self.clips):
            for action in part.actions():
                part.removeAction(action)
                action.deleteLater()
        slots = ((keys.keys_for(action), partial(self._run_action, action)) for action in self.key_hints.buttons)
        bind(self, [*slots, (("Esc",), self.ended.emit)])
        bind_playback(self, self.clips, keys, Qt.ShortcutContext.WidgetShortcut)  # Space is for a focused button
        bind_playback(self.clips, self.clips, keys)
        self._instruction = instruction
        self.clips.show_pair(self._answers[-1][0] if self.done else None)
        self._show()

    def add(self, pair: Pair) -> None:
        """Take a pair that has been drawn."""
        self._waiting.append(pair)
        if self.clips.shown is None:
            self._show_next()

    def refuse(self, sentence: str) -> None:
        """Show why there are no more pairs."""
        self._refusal = sentence
        self.hint.setText(sentence)
        self.clips.set_placeholder(sentence)

    def leave(self) -> None:
        """Free the pictures."""
        self.flash_timer.stop()
        self._waiting = []
        self.clips.show_pair(None)

    def forget(self) -> None:
        """Discard all answers, whose clips take up to a gigabyte of memory."""
        self._answers = []

    def _run_action(self, action: KeyAction) -> None:
        if isinstance(action, Choice):
            self._answer(action)
        else:
            self._undo()

    def _answer(self, choice: Choice) -> None:
        """Answer the pair on screen; ignored while the tick of the last answer is shown, and after the last pair."""
        if self.clips.shown is not None and not self.flash_timer.isActive() and not self.done:
            self._answers.append((self.clips.shown, choice))
            self.clips.flash(choice)
            self.key_hints.enable_undo(True)
            self.flash_timer.start()

    def _undo(self) -> None:
        """Take the last answer back and show its pair again."""
        if not self._answers:
            return
        if self.clips.shown is not None and not self.flash_timer.isActive() and not self.done:
            self._waiting.insert(0, self.clips.shown)
        self.flash_timer.stop()
        self.clips.show_pair(self._answers.pop()[0])
        self._show()
        self.setFocus()

    def _show_next(self) -> None:
        """Show the next pair; the last one stays when all are answered."""
        if self.done:
            self.clips.end_flash()
        else:
            self.clips.show_pair(self._waiting.pop(0) if self._waiting else None)
        self._show()

    def _show(self) -> None:
        if self.clips.shown is None:
            self.setFocus()  # a key hint that is disabled would leave the focus to its neighbour
        self.key_hints.enable_choices(self.clips.shown is not None and not self.done)
        self.key_hints.enable_undo(bool(self._answers))
        for button in (self.keep, self.without):
            button.setVisible(self.done)
        if self.done:
            chosen = ", ".join(choice for _, choice in self._answers)
            self.count.setText("Practice finished")
            self.instruction.setText(f"Your answers: {chosen}. They are discarded unless you start with them.")
            self.hint.setText("")
            self.keep.setFocus()
            return
        self.count.setText(f"Practice pair {len(self._answers) + 1} of {PAIRS}")
        self.hint.setText("Your answers are kept only if you start with them." if self.clips.shown else self._refusal)
        self.instruction.setText(self._instruction)
        self.clips.set_placeholder(self._refusal or "Loading the next pair…")
