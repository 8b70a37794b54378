"""One QAction for each command, shared by menus, toolbar and keys."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QWidget

from app.keys.commands import APPEARANCES, COMMANDS, SPEEDS, Command, KeyAction, plain
from app.keys.key_map import KeyMap, key_symbols
from app.style import icons

_ICONS: dict[KeyAction, str] = {
    Command.PAUSE: "pause",
    Command.STOP: "stop",
    Command.UNDO: "undo",
    Command.REDO: "redo",
    Command.ABOUT: "about",
}
_EXCLUSIVE: tuple[tuple[Command, ...], ...] = (tuple(SPEEDS), (Command.HUMAN, Command.ORACLE), tuple(APPEARANCES))


class Actions(QObject):
    """QActions by command. They belong to the window, so that keys work whichever widget has the focus.

    Signals:
        action_requested(object): a Choice or Command was triggered by key, menu or toolbar.
    """

    action_requested = Signal(object)

    def __init__(self, keys: KeyMap, window: QWidget) -> None:
        super().__init__(window)
        self._actions = {name: self._make_action(name, window) for name in COMMANDS}
        for group in _EXCLUSIVE:
            exclusive = QActionGroup(self)
            for command in group:
                exclusive.addAction(self._actions[command])
        self.set_keys(keys)

    def __getitem__(self, command: KeyAction) -> QAction:
        return self._actions[command]

    def set_keys(self, keys: KeyMap) -> None:
        """Replace the shortcuts, also in the tooltips."""
        self.keys = keys
        for command, action in self._actions.items():
            action.setShortcuts([QKeySequence(key) for key in keys.keys_for(command)])
            self._show_tip(command)

    def rename(self, command: KeyAction, title: str) -> None:
        """Change the title of a command to its present effect."""
        self._actions[command].setText(title)
        self._show_tip(command)

    def _show_tip(self, command: KeyAction) -> None:
        shortcuts, name = self.keys.keys_for(command), plain(self._actions[command].text())
        self._actions[command].setToolTip(f"{name} ({key_symbols(shortcuts)})" if shortcuts else name)

    def _make_action(self, command: KeyAction, window: QWidget) -> QAction:
        info = COMMANDS[command]
        action = QAction(info.title, window, checkable=info.checkable, autoRepeat=info.repeats)
        action.setObjectName(str(command))
        action.setStatusTip(info.tip)
        if command in _ICONS:
            icons.set_icon(action, _ICONS[command])
        action.triggered.connect(lambda: self.action_requested.emit(command))
        window.addAction(action)
        return action
