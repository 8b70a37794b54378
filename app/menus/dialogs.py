"""The dialogs that commands open over the window. None blocks: teaching goes on meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow, QMessageBox

from app.keys.actions import Actions
from app.keys.commands import Command, KeyMap
from app.keys.key_dialog import KeyDialog
from app.menus import about
from app.menus.key_list import KeyList


def dialog_handlers(
    window: QMainWindow, actions: Actions, bind: Callable[[KeyMap], None]
) -> dict[Command, Callable[[], object]]:
    """What the commands do that open a dialog; `bind` gets the keys that are chosen in one."""
    return {
        Command.KEY_LIST: lambda: KeyList(actions.keys, window).open(),
        Command.BIND_KEYS: lambda: _ask_for_keys(window, actions.keys, bind),
        Command.ABOUT: lambda: _tell_about(window),
    }


def _ask_for_keys(window: QMainWindow, keys: KeyMap, bind: Callable[[KeyMap], None]) -> None:
    dialog = KeyDialog(keys, window)
    dialog.keys_chosen.connect(bind)
    dialog.open()


def _tell_about(window: QMainWindow) -> None:
    close = QMessageBox.StandardButton.Close
    box = QMessageBox(QMessageBox.Icon.NoIcon, "About Somersault", about.text(), close, window)
    box.setIconPixmap(window.windowIcon().pixmap(96, 96))
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
