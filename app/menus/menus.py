"""The menus as a table of commands, and handlers of the commands that write a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMainWindow

from app.keys.actions import Actions
from app.keys.commands import APPEARANCES, SPEEDS, Command, KeyAction
from app.session.controller import Controller
from core.types import Choice

MENUS: tuple[tuple[str, tuple[tuple[KeyAction, ...], ...]], ...] = (
    (
        "&Session",
        (
            (Command.START_PAGE,),
            (Command.PAUSE, Command.STOP),
            (Command.HUMAN, Command.ORACLE),
            (Command.EXPORT, Command.TRAINING_FILM, Command.BEFORE_AFTER_FILM),
            (Command.PLAY_GAME,),
            (Command.QUIT,),
        ),
    ),
    (
        "&Labelling",
        (
            tuple(Choice),
            (Command.UNDO, Command.REDO),
            (Command.PLAYBACK, Command.PREVIOUS_FRAME, Command.NEXT_FRAME),
            tuple(SPEEDS),
            (Command.PREDICTIONS, Command.REPEATS),
            (Command.EDIT_KEYS,),
        ),
    ),
    (
        "&View",
        (
            (Command.PROGRESS_PANEL, Command.HISTORY),
            (Command.LEARNING_PLOTS, Command.REWARD_PLOTS, Command.SESSION_PLOTS),
            (Command.EARLIER_POLICY, Command.LATER_POLICY, Command.CURRENT_POLICY),
            (Command.DEMO, Command.SELF_RUNNING_DEMO),
            (Command.HIDE_TRUE_REWARD,),
            tuple(APPEARANCES),
        ),
    ),
    ("&Help", ((Command.KEY_LIST,), (Command.DIAGNOSTICS, Command.ABOUT))),
)
"""Title of each menu, and its groups of commands with separators between them."""


def add_menus(window: QMainWindow, actions: Actions) -> None:
    for title, groups in MENUS:
        menu = window.menuBar().addMenu(title)
        menu.setToolTipsVisible(True)
        for number, group in enumerate(groups):
            if number:
                menu.addSeparator()
            menu.addActions([actions[action] for action in group])


def file_handlers(window: QMainWindow, controller: Controller) -> dict[Command, Callable[[], object]]:
    """Functions by command; each asks for the file to write."""
    name = controller.session.folder.name
    films = controller.film_export
    collect, diagnostics = controller.file_tasks.collect_diagnostics, f"{name}-diagnostics.zip"
    return {
        Command.EXPORT: lambda: ask_for_file(
            window, "Export session", f"{name}.somersault", controller.file_tasks.export
        ),
        Command.TRAINING_FILM: lambda: ask_for_file(window, "Export training film", f"{name}.mp4", films.make),
        Command.BEFORE_AFTER_FILM: lambda: ask_for_file(
            window, "Export before-and-after film", f"{name}-before-after.mp4", films.make_before_after
        ),
        Command.DIAGNOSTICS: lambda: ask_for_file(window, "Collect diagnostics", diagnostics, collect),
    }


def ask_for_file(window: QMainWindow, title: str, name: str, then: Callable[[Path], None]) -> None:
    """Open a save dialog without blocking, and call `then` with the chosen path."""
    dialog = QFileDialog(window, title, str(Path.home() / name))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.selectFile(name)
    dialog.fileSelected.connect(lambda chosen: then(Path(chosen)))
    dialog.open()
