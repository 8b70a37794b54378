"""The dialogs that commands open over the window. None blocks: teaching goes on meanwhile."""

from __future__ import annotations

import platform
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow, QMessageBox

from app.keys.actions import Actions
from app.keys.commands import Command, KeyMap
from app.keys.key_dialog import KeyDialog
from app.menus import dialogs
from app.menus.key_list import KeyList
from core.version import VERSION, library_versions


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
    box = QMessageBox(QMessageBox.Icon.NoIcon, "About Somersault", dialogs.text(), close, window)
    box.setIconPixmap(window.windowIcon().pixmap(96, 96))
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()


_TEXT = (
    "<h3>Somersault {version}</h3><p>Teach a simulated robot a behaviour that nobody can write a reward for, by"
    " choosing the better of two short clips.</p><p>The method is that of Christiano et al., <i>Deep Reinforcement"
    " Learning from Human Preferences</i> (2017).</p><p><small>{libraries}</small></p>"
)


def text() -> str:
    """Versions come from what is installed, so that nothing has to be loaded for them."""
    versions = {"Python": platform.python_version(), **library_versions()}
    libraries = ", ".join(f"{name} {found or '(not installed)'}" for name, found in versions.items())
    return _TEXT.format(version=VERSION, libraries=libraries)
