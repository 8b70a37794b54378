"""The menus' entries for looking at answers again."""

from __future__ import annotations

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from app.controller import Controller
from app.keys import KeyMap
from app.windows.history import HistoryPage


class Review:
    """Opens the answer history, one at a time, and switches repeats. `window` owns both."""

    def __init__(self, window: QMainWindow, controller: Controller, keys: KeyMap) -> None:
        self._window, self._controller, self._keys = window, controller, keys
        self.page: HistoryPage | None = None
        self.open_action = QAction("Answer &history", window, shortcut=QKeySequence("Ctrl+H"))
        self.open_action.setObjectName("history")
        self.open_action.triggered.connect(self._on_open_requested)
        self.again_action = QAction("Show some pairs &again", window, checkable=True)
        self.again_action.setObjectName("again")
        self.again_action.setChecked(controller.labelling.repeats.on)
        self.again_action.toggled.connect(controller.show_pairs_again)
        menu(window, "&View").addAction(self.open_action)
        menu(window, "&Labelling").addAction(self.again_action)

    def close(self) -> None:
        if self.page:
            self.page.close()

    def _on_open_requested(self) -> None:
        if self.page is None:
            self.page = HistoryPage(self._controller, self._keys, self._window)
        self.page.show()
        self.page.raise_()
        self.page.activateWindow()


def menu(window: QMainWindow, title: str) -> QMenu:
    """The window's menu of that title, made before Help where there is none yet."""
    bar = window.menuBar()
    for action in bar.actions():
        found = action.menu()
        if isinstance(found, QMenu) and action.text() == title:
            return found
    made = QMenu(title, bar)
    helps = [action for action in bar.actions() if action.text() == "&Help"]
    if helps:
        bar.insertMenu(helps[0], made)
    else:
        bar.addMenu(made)
    return made
