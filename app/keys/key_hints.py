"""Buttons for the answers and Undo that show their keys."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.keys.commands import COMMANDS, Command, KeyAction
from app.keys.key_map import KeyMap, key_symbol, key_symbols
from app.style.glossary import explain
from app.style.labels import literal, tab_button
from app.style.layouts import row
from core.types import Choice

_SHOWN: tuple[KeyAction, ...] = (*Choice, Command.UNDO)


class KeyHints(QWidget):
    """A row of buttons; clicking one does not move the focus.

    Signals:
        action_requested(object): a Choice or Command was clicked.
    """

    action_requested = Signal(object)

    def __init__(self, keys: KeyMap) -> None:
        super().__init__()
        self.setAccessibleName("Answers")
        explain(self, "choice")
        self.buttons: dict[KeyAction, QPushButton] = {}
        for action in _SHOWN:
            self.buttons[action] = tab_button("")
            self.buttons[action].clicked.connect(lambda _=False, action=action: self.action_requested.emit(action))
        row(None, *self.buttons.values(), None, of=self, spacing=10)
        self.set_keys(keys)

    def set_keys(self, keys: KeyMap) -> None:
        for action, hint in self.buttons.items():
            shortcuts, name = keys.keys_for(action), COMMANDS[action].name
            hint.setText(literal("  ".join([*map(key_symbol, shortcuts[:1]), name])))
            hint.setAccessibleName(name)
            hint.setAccessibleDescription(f"key {key_symbols(shortcuts)}" if shortcuts else "")

    def enable_undo(self, on: bool) -> None:
        self.buttons[Command.UNDO].setEnabled(on)

    def enable_choices(self, on: bool) -> None:
        for choice in Choice:
            self.buttons[choice].setEnabled(on)
