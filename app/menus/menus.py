"""The menus as a table of commands, and handlers of the commands that write a file."""

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QMainWindow, QMenu

from app.keys.actions import Actions
from app.keys.commands import APPEARANCES, SPEEDS, Command, KeyAction
from app.plots.plot_panel import PlotPanel
from app.session.controller import Controller
from app.style.file_dialog import Then, ask_for_file
from core.session.archive import SUFFIX
from core.types import Choice

EXPORT = "E&xport"
MENUS: tuple[tuple[str, tuple[tuple[KeyAction, ...], ...]], ...] = (
    (
        "&Session",
        (
            (Command.START_PAGE, Command.START_OVER),
            (Command.PAUSE, Command.STOP, Command.FINISH, Command.UNDO_FINISH),
            (Command.HUMAN, Command.ORACLE),
            (Command.PLAY_GAME,),
            (Command.QUIT,),
        ),
    ),
    (
        EXPORT,
        (
            (Command.TRAINING_FILM, Command.BEFORE_AFTER_FILM, Command.TALK_FILM),
            (Command.SAVE_PLOTS, Command.EXPORT, Command.EXPORT_ONNX),
        ),
    ),
    (
        "&Labelling",
        (
            tuple(Choice),
            (Command.UNDO, Command.REDO),
            (Command.PLAYBACK, Command.RESTART_CLIPS, Command.PREVIOUS_FRAME, Command.NEXT_FRAME),
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
            (Command.EARLIER_POLICY, Command.LATER_POLICY, Command.NEWEST_POLICY),
            (Command.DEMO, Command.SELF_RUNNING_DEMO, Command.VOTE),
            (Command.HIDE_TRUE_REWARD,),
            tuple(APPEARANCES),
        ),
    ),
    ("&Help", ((Command.KEY_LIST, Command.GLOSSARY), (Command.DIAGNOSTICS, Command.ABOUT))),
)
"""Title of each menu, and its groups of commands with separators between them."""


def add_menus(window: QMainWindow, actions: Actions) -> dict[str, QMenu]:
    """Fill the menu bar; return the menus by title. The first one also contains the Export menu, above Quit."""
    menus = {title: window.menuBar().addMenu(title) for title, _ in MENUS}
    for title, groups in MENUS:
        menu = menus[title]
        menu.setToolTipsVisible(True)
        for number, group in enumerate(groups):
            if number:
                menu.addSeparator()
            menu.addActions([actions[action] for action in group])
    menus[MENUS[0][0]].insertMenu(actions[Command.QUIT], menus[EXPORT])
    return menus


def file_handlers(window: QMainWindow, controller: Controller, plots: PlotPanel) -> dict[Command, Callable[[], object]]:
    """Functions by command; each asks for the file to write."""
    name, films, tasks = controller.session.folder.name, controller.film_export, controller.file_tasks
    dialogs: dict[Command, tuple[str, str, Then]] = {
        Command.EXPORT: ("Export session", f"{name}{SUFFIX}", tasks.export),
        Command.SAVE_PLOTS: (
            "Export plots and their data",
            f"{name}-plots.zip",
            lambda target: tasks.write(target, plots.all_files()),
        ),
        Command.EXPORT_ONNX: ("Export policy as ONNX", f"{name}/policy.onnx", controller.portable_export.make),
        Command.TRAINING_FILM: ("Export film of the training", f"{name}.mp4", films.make),
        Command.BEFORE_AFTER_FILM: (
            "Export film before and after",
            f"{name}-before-after.mp4",
            partial(films.make, before_after=True),
        ),
        Command.TALK_FILM: ("Export film for a talk", f"{name}-talk.mp4", partial(films.make, talk=True)),
        Command.DIAGNOSTICS: ("Collect diagnostics", f"{name}-diagnostics.zip", tasks.collect_diagnostics),
    }
    return {command: partial(ask_for_file, window, *arguments) for command, arguments in dialogs.items()}
