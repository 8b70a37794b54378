"""Demo mode: the session full screen, for a room. Guests answer with four keys, or the oracle plays by itself.

A second view of the same controller: nothing is decided here. Qt 6 offers no game pad (QtGamepad ended with Qt 5.15),
so guests have the keyboard; a pad that is set up to press arrow keys works as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QIcon, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.keys.commands import Command, KeyAction, KeyMap, symbol
from app.live.demonstrations import Demonstration
from app.live.policy_player import PolicyPlayer
from app.session.controller import Controller
from app.style import assets
from app.windows.key_tile import KeyTile
from app.windows.pair_page import PairPage
from app.windows.waiting_message import explanation
from core.formatting import format_duration, format_number
from core.types import Choice, Preference, Teacher

_REFRESH_MS = 250
_WORDS = {
    Choice.LEFT: "Left",
    Choice.TIE: "Tie",
    Choice.CANT_TELL: "Can't tell",
    Choice.RIGHT: "Right",
}
_QUESTION = "Which is better?"
_PLAYING, _PLAYED = "The oracle answers by itself", "The oracle has given all its answers"
_DESIGNED = 1280, 720
"""All sizes are for a screen of so many pixels, and grow with it."""
_SIZES = {
    "title": 19,
    "question": 36,
    "instruction": 17,
    "headline": 34,
    "detail": 20,
    "count": 42,
    "unit": 18,
    "foot": 13,
}
"""Pixels of the letters on such a screen."""
_BOLD = ("question", "headline", "count")


class DemoWindow(QWidget):
    """Full screen until Esc or F11. When it goes, who taught before it teaches again.

    Signals:
        left(): the window has gone; the session goes on.
    """

    left = Signal()

    def __init__(self, controller: Controller, keys: KeyMap, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._controller, self._keys = controller, keys
        self._teacher_before = controller.labelling.teacher
        self.setWindowTitle(f"{controller.task.title} – Somersault")
        self.setWindowIcon(QIcon(str(assets.path("logo.svg"))))
        self.setObjectName("demo")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._make()
        for child in self.findChildren(QWidget):
            child.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # there is nothing to move about for: four keys are all
        self._make_keys()
        self._connect()
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self._timer.start()
        self._flash_end = QTimer(self, singleShot=True, interval=600)
        self._flash_end.timeout.connect(self._light_none)
        self.clips.show_pair(controller.labelling.pairs.shown)
        self.place.settle()
        self.refresh()

    def _make(self) -> None:
        self.policy = PolicyPlayer("The present policy acting")
        self.headline, self.detail = self._label("headline", wrap=True), self._label("detail", wrap=True)
        self.question = self._label("question")
        self.place = PairPage(self._controller, self._waiting())
        self.clips = self.place.clips
        self.tiles = {choice: self._tile(choice, words) for choice, words in _WORDS.items()}
        self._grid = QGridLayout(self)
        self._grid.addLayout(self._head(), 0, 0, 1, 2)
        self._grid.addWidget(self.place, 1, 0)
        self._grid.addLayout(self._side(), 1, 1, 2, 1)
        self._row = QHBoxLayout()
        for tile in self.tiles.values():
            self._row.addWidget(tile)
        self._grid.addLayout(self._row, 2, 0)
        self._foot = self._label("foot", self._hints)
        self._grid.addWidget(self._foot, 3, 0, 1, 2)
        for row, stretch in ((1, 62), (2, 18)):
            self._grid.setRowStretch(row, stretch)
        for column, stretch in ((0, 68), (1, 32)):
            self._grid.setColumnStretch(column, stretch)

    def _label(self, name: str, text: str = "", wrap: bool = False) -> QLabel:
        made = QLabel(text, wordWrap=wrap, alignment=Qt.AlignmentFlag.AlignCenter, textFormat=Qt.TextFormat.PlainText)
        made.setObjectName(f"demo{name.capitalize()}")
        return made

    def _tile(self, choice: Choice, words: str) -> KeyTile:
        key = symbol(self._keys.keys_for(choice)[0])
        tile = KeyTile(key, words, choice)
        tile.clicked.connect(lambda: self.answer(choice))
        return tile

    def _head(self) -> QVBoxLayout:
        head = QVBoxLayout()
        head.addWidget(self._label("title", self._controller.task.title))
        head.addWidget(self.question)
        head.addWidget(self._label("instruction", self._controller.task.instruction, wrap=True))
        return head

    def _waiting(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.addStretch(1)
        column.addWidget(self.headline)
        column.addWidget(self.detail)
        column.addStretch(1)
        return page

    def _side(self) -> QVBoxLayout:
        side = QVBoxLayout()
        self.answers, self.time, self.measure = (self._label("count", "–") for _ in range(3))
        side.addWidget(self._label("unit", "What it does now"))
        side.addWidget(self.policy, 1)
        self.time_unit = self._label("unit")
        figures = QHBoxLayout()
        figures.addLayout(_cell(self.answers, self._label("unit", "answers")), 1)
        figures.addLayout(_cell(self.time, self.time_unit), 1)
        side.addLayout(figures)
        side.addLayout(_cell(self.measure, self._label("unit", self._controller.task.measure_title, wrap=True)))
        return side

    def _make_keys(self) -> None:
        wanted: dict[KeyAction, Callable[[], object]] = {
            **{choice: partial(self.answer, choice) for choice in Choice},
            Command.UNDO: self._controller.labelling.undo,
            Command.REDO: self._controller.labelling.redo,
            Command.PLAYBACK: self.clips.toggle_playback,
            Command.HUMAN: partial(self._controller.labelling.set_teacher, Teacher.HUMAN),
            Command.ORACLE: partial(self._controller.labelling.set_teacher, Teacher.ORACLE),
            Command.DEMO: self.close,
        }
        for meaning, slot in wanted.items():
            self._bind(self._keys.keys_for(meaning), slot)
        self._bind(("Esc",), self.close)

    def _bind(self, keys: tuple[str, ...], slot: Callable[[], object]) -> None:
        action = QAction(self, autoRepeat=False)
        action.setShortcuts([QKeySequence(key) for key in keys])
        action.triggered.connect(lambda: slot())
        self.addAction(action)

    @property
    def _hints(self) -> str:
        """What is at the foot of the screen: for who runs the demo, not for the room."""
        hints = ((Command.ORACLE, "the oracle plays"), (Command.HUMAN, "guests answer"), (Command.UNDO, "undo"))
        told = [f"{symbol(self._keys.keys_for(m)[0])} {words}" for m, words in hints if self._keys.keys_for(m)]
        return "      ".join([*told, "Esc leave"])

    def _connect(self) -> None:
        controller, labelling = self._controller, self._controller.labelling
        self.place.settled.connect(self._on_settled)
        labelling.answer_kept.connect(self._on_answer_kept)
        labelling.answer_withdrawn.connect(self._on_answer_withdrawn)
        labelling.teacher_changed.connect(self._ask)
        labelling.trouble_arose.connect(self._tell)
        controller.trouble_arose.connect(self._tell)
        controller.job_failed.connect(self._tell)
        controller.demonstrations.demonstration_drawn.connect(self._on_demonstration_drawn)

    def answer(self, choice: Choice) -> None:
        """A guest's answer also takes over from the oracle."""
        self._controller.labelling.set_teacher(Teacher.HUMAN)
        self._controller.labelling.answer(choice)

    def refresh(self) -> None:
        """What is pulled a few times a second instead of being pushed."""
        progress = self._controller.progress
        _, figures = self._controller.metrics.snapshot(self._controller.task.measure_name)
        self.answers.setText(f"{progress.labels:,}")
        number, unit = format_duration(progress.seconds).split(" ")
        self.time.setText(number)
        self.time_unit.setText(unit)
        told = len(figures) and not self._controller.true_reward.hides(self._controller.task)
        self.measure.setText(format_number(float(figures[-1])) if told else "–")
        self._ask()
        if not self.place.asks:
            headline, detail = explanation(self._controller)
            self.headline.setText(headline)
            self.detail.setText(detail)

    def resizeEvent(self, event: QResizeEvent) -> None:
        scale = min(self.width() / _DESIGNED[0], self.height() / _DESIGNED[1])
        self.setStyleSheet("".join(_letters(name, scale) for name in _SIZES))  # a change of colours resets plain fonts
        margin = round(20 * scale)
        self._grid.setContentsMargins(round(1.6 * margin), margin, round(1.6 * margin), round(0.5 * margin))
        self._grid.setHorizontalSpacing(round(28 * scale))
        self._grid.setVerticalSpacing(round(12 * scale))
        self._row.setSpacing(round(14 * scale))
        self.policy.reward_timeline.setFixedHeight(round(44 * scale))

    def closeEvent(self, event: QCloseEvent) -> None:
        self._timer.stop()
        self._flash_end.stop()
        self.clips.show_pair(None)
        self.policy.halt()
        self._controller.labelling.set_teacher(self._teacher_before)
        event.accept()
        self.left.emit()

    def _tell(self, sentence: str) -> None:
        self._foot.setText(sentence)

    def _light_none(self) -> None:
        for tile in self.tiles.values():
            tile.set_chosen(False)

    def _on_settled(self, asks: bool) -> None:
        for tile in self.tiles.values():
            tile.setEnabled(asks)

    def _on_answer_kept(self, preference: Preference) -> None:
        if preference.labeller == Teacher.HUMAN:  # as in the main window: what was told stays until a person goes on
            self._foot.setText(self._hints)
        self.clips.flash(preference.choice)
        self._light_none()
        self.tiles[preference.choice].set_chosen(True)
        self._flash_end.start()

    def _on_answer_withdrawn(self) -> None:
        self._flash_end.stop()
        self._light_none()

    def _ask(self) -> None:
        progress = self._controller.progress
        playing = _PLAYED if progress.target and progress.labels >= progress.target else _PLAYING
        self.question.setText(playing if self._controller.labelling.teacher == Teacher.ORACLE else _QUESTION)

    def _on_demonstration_drawn(self, demonstration: Demonstration) -> None:
        self.policy.play_next(demonstration)


def _letters(name: str, scale: float) -> str:
    weight = "bold" if name in _BOLD else "normal"
    size = max(9, round(_SIZES[name] * scale))
    return f"QLabel#demo{name.capitalize()} {{ font-size: {size}px; font-weight: {weight}; }}"


def _cell(count: QLabel, unit: QLabel) -> QVBoxLayout:
    cell = QVBoxLayout()
    cell.setSpacing(0)
    cell.addWidget(count)
    cell.addWidget(unit)
    return cell
