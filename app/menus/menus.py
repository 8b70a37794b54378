"""The menus as a table of commands, and the dialogs for what writes a file where the person says."""

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
            (Command.EXPORT, Command.FILM, Command.BEFORE_AFTER),
            (Command.PLAY,),
            (Command.QUIT,),
        ),
    ),
    (
        "&Labelling",
        (
            tuple(Choice),
            (Command.UNDO, Command.REDO),
            (Command.PLAYBACK, Command.FRAME_BACK, Command.FRAME_ON),
            tuple(SPEEDS),
            (Command.THOUGHTS, Command.REPEATS),
            (Command.BIND_KEYS,),
        ),
    ),
    (
        "&View",
        (
            (Command.PANEL, Command.HISTORY),
            (Command.LEARNING, Command.REWARD_FIT, Command.PACE),
            (Command.EARLIER, Command.LATER, Command.LIVE),
            (Command.DEMO, Command.DEMO_ALONE),
            (Command.HIDE_TRUE_REWARD,),
            tuple(APPEARANCES),
        ),
    ),
    ("&Help", ((Command.KEY_LIST,), (Command.DIAGNOSTICS, Command.ABOUT))),
)
"""Title, and groups of commands with a line between them."""


def add_menus(window: QMainWindow, actions: Actions) -> None:
    for title, groups in MENUS:
        menu = window.menuBar().addMenu(title)
        menu.setToolTipsVisible(True)
        for number, group in enumerate(groups):
            if number:
                menu.addSeparator()
            menu.addActions([actions[meaning] for meaning in group])


def file_handlers(window: QMainWindow, controller: Controller) -> dict[Command, Callable[[], object]]:
    """What the commands do that write a file."""
    name = controller.session.folder.name
    films = controller.film_export
    collect, diagnostics = controller.file_tasks.collect_diagnostics, f"{name}-diagnostics.zip"
    return {
        Command.EXPORT: lambda: ask_for_file(window, "Export", f"{name}.somersault", controller.file_tasks.export),
        Command.FILM: lambda: ask_for_file(window, "Film", f"{name}.mp4", films.make),
        Command.BEFORE_AFTER: lambda: ask_for_file(window, "Film", f"{name}-before-after.mp4", films.make_before_after),
        Command.DIAGNOSTICS: lambda: ask_for_file(window, "Diagnostics", diagnostics, collect),
    }


def ask_for_file(window: QMainWindow, title: str, name: str, then: Callable[[Path], None]) -> None:
    """Without blocking: teaching goes on while the person looks for a folder."""
    dialog = QFileDialog(window, title, str(Path.home() / name))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.selectFile(name)
    dialog.fileSelected.connect(lambda chosen: then(Path(chosen)))
    dialog.open()
