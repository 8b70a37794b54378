"""Handlers of the commands for reviewing answers."""

from collections.abc import Callable

from PySide6.QtWidgets import QMainWindow

from app.keys.actions import Actions
from app.keys.commands import Command
from app.session.controller import Controller
from app.windows.history import HistoryPage


class HistoryCommands:
    """`handlers` has functions that open the answer history with the current keys, and switch repeated pairs."""

    def __init__(self, window: QMainWindow, controller: Controller, actions: Actions) -> None:
        self._window, self._controller, self._actions = window, controller, actions
        self.page: HistoryPage | None = None
        actions[Command.REPEATS].setChecked(controller.labelling.repeats.on)
        self.handlers: dict[Command, Callable[[], object]] = {
            Command.HISTORY: self._open,
            Command.REPEATS: self._switch_repeats,
        }

    def _switch_repeats(self) -> None:
        self._controller.set_repeats(self._actions[Command.REPEATS].isChecked())
        if self.page:
            self.page.update_consistency()

    def close(self) -> None:
        if self.page:
            self.page.close()

    def _open(self) -> None:
        if self.page is not None and self.page.keys is not self._actions.keys:
            self.page.close()
            self.page.deleteLater()
            self.page = None
        if self.page is None:
            self.page = HistoryPage(self._controller, self._actions.keys, self._window)
        self.page.show()
        self.page.raise_()
        self.page.activateWindow()
