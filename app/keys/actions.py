"""One QAction for each entry of the table of commands: menus, toolbar and keys all trigger the same."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QWidget

from app.keys.commands import APPEARANCES, COMMANDS, SPEEDS, Command, KeyAction, KeyMap, symbols
from app.style import icons

_ICONS: dict[KeyAction, str] = {
    Command.PAUSE: "pause",
    Command.STOP: "stop",
    Command.UNDO: "undo",
    Command.REDO: "redo",
    Command.ABOUT: "about",
}
_ONE_OF: tuple[tuple[Command, ...], ...] = (tuple(SPEEDS), (Command.HUMAN, Command.ORACLE), tuple(APPEARANCES))


class Actions(QObject):
    """The actions by what they mean. They belong to the window, so that a key works whichever widget has the focus.

    Signals:
        meaning_requested(object): the person asked for this Choice or Command.
    """

    meaning_requested = Signal(object)

    def __init__(self, keys: KeyMap, window: QWidget) -> None:
        super().__init__(window)
        self._actions = {meaning: self._made(meaning, window) for meaning in COMMANDS}
        for group in _ONE_OF:
            exclusive = QActionGroup(self)
            for command in group:
                exclusive.addAction(self._actions[command])
        self.keys = keys
        self.bind(keys)

    def __getitem__(self, meaning: KeyAction) -> QAction:
        return self._actions[meaning]

    def bind(self, keys: KeyMap) -> None:
        """From now on these keys."""
        self.keys = keys
        for meaning, action in self._actions.items():
            names, words = keys.keys_for(meaning), COMMANDS[meaning].words
            action.setShortcuts([QKeySequence(key) for key in names])
            action.setToolTip(f"{words} ({symbols(names)})" if names else words)

    def _made(self, meaning: KeyAction, window: QWidget) -> QAction:
        entry = COMMANDS[meaning]
        action = QAction(entry.title, window, checkable=entry.checkable, autoRepeat=entry.repeats)
        action.setObjectName(str(meaning))
        action.setStatusTip(entry.tip)
        if meaning in _ICONS:
            icons.give(action, _ICONS[meaning])
        action.triggered.connect(lambda: self.meaning_requested.emit(meaning))
        window.addAction(action)
        return action
