"""Handlers of the commands that open a dialog. No dialog blocks: teaching continues meanwhile."""

import platform
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QMainWindow, QMessageBox

from app.keys.actions import Actions
from app.keys.commands import Command
from app.keys.key_dialog import KeyDialog
from app.keys.key_map import KeyMap
from app.menus.key_list import KeyList
from app.style.glossary import open_glossary, word_of
from core.version import VERSION, library_versions

_ABOUT = (
    "<h3>Somersault {version}</h3><p>Teach a simulated robot what is hard to describe with a reward function,"
    " by choosing the better of two short clips.</p><p>Method: Christiano et al., <i>Deep Reinforcement"
    " Learning from Human Preferences</i> (2017).</p><p><small>{libraries}</small></p>"
)


def dialog_handlers(
    window: QMainWindow, actions: Actions, set_keys: Callable[[KeyMap], None]
) -> dict[Command, Callable[[], object]]:
    """Functions by command; set_keys is called with keys that were changed in the key dialog."""

    def edit_keys() -> None:
        dialog = KeyDialog(actions.keys, window)
        dialog.keys_chosen.connect(set_keys)
        dialog.open()

    return {
        Command.KEY_LIST: lambda: KeyList(actions.keys, window).open(),
        Command.GLOSSARY: lambda: open_glossary(window, word_of(QApplication.focusWidget())),
        Command.EDIT_KEYS: edit_keys,
        Command.ABOUT: lambda: _show_about(window),
    }


def ask_to_discard(window: QMainWindow, training: bool, files: Sequence[str], leave: Callable[[], object]) -> None:
    """Ask whether to leave although training could not be saved or files are still being written."""
    losses = []
    if training:
        lost = "Closing the session tries once more; if that fails, this training is lost."
        losses.append(f"The training since the last checkpoint could not be saved. {lost}")
    if files:
        discarded = "If you close the session now, unfinished files are discarded."
        losses.append(f"Still being written: {' and '.join(files)}. {discarded}")
    box = _warning(window, " ".join(losses))
    box.addButton("&Close anyway", QMessageBox.ButtonRole.DestructiveRole).clicked.connect(leave)
    box.setDefaultButton(QMessageBox.StandardButton.Cancel)
    box.open()


def _warning(window: QMainWindow, text: str) -> QMessageBox:
    box = QMessageBox(QMessageBox.Icon.Warning, "Somersault", text, QMessageBox.StandardButton.Cancel, window)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return box


def _show_about(window: QMainWindow) -> None:
    """Show the versions of the program and its libraries, read from package metadata instead of importing them."""
    versions = {"Python": platform.python_version(), **library_versions()}
    libraries = ", ".join(f"{name} {found or '(not installed)'}" for name, found in versions.items())
    text, close = _ABOUT.format(version=VERSION, libraries=libraries), QMessageBox.StandardButton.Close
    box = QMessageBox(QMessageBox.Icon.NoIcon, "About Somersault", text, close, window)
    box.setIconPixmap(window.windowIcon().pixmap(96, 96))
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
