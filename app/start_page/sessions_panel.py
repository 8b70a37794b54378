"""The sessions to go on with, and what can be done with them: by key, by button and by the list's own menu."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QAction, QDesktopServices, QImage, QKeySequence
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.session.library import SessionLibrary
from app.start_page.session_list import SessionList
from app.style.labels import label
from app.style.section_header import head
from core.session.library import SessionEntry

_WIDTH = 430
_ABOUT = "Everything is kept."
_EMPTY = "Your sessions will be listed here. Choose a task to begin the first one."


class SessionsPanel(QFrame):
    """The list of one shelf.

    Signals:
        open_requested(object): the session in this folder (Path) is to be opened.
        told(str): something was done; one sentence.
        refused(str): something can't be done; one sentence.
        first_listed(): the sessions are there for the first time.
    """

    open_requested = Signal(object)
    told = Signal(str)
    refused = Signal(str)
    first_listed = Signal()

    def __init__(self, shelf: SessionLibrary, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shelf = shelf
        self._wanted: Path | None = None
        self._listed = False
        self.list = SessionList()
        self.empty = label("empty", _EMPTY, wrap=True, centred=True)
        self.place = QStackedWidget()
        self.place.addWidget(self.empty)
        self.place.addWidget(self.list)
        self._make_actions()
        self._arrange()
        self._offer(None)
        self._connect()

    def _make_actions(self) -> None:
        self.of_chosen = (
            self._action("Open", "", self._open_chosen, "Open the chosen session (Enter)"),
            self._action("Duplicate", "Ctrl+D", self._duplicate, "A copy to try something else with"),
            self._action("Trash", "Delete", self._throw_away, "Move it to the trash of your desktop"),
            self._action("Show folder", "Ctrl+R", self._reveal, "Show its folder in the file manager"),
        )
        self.of_others = (
            self._action("Open folder…", "Ctrl+O", self._ask_for_folder, "A session kept elsewhere"),
            self._action("Import…", "Ctrl+I", self._ask_for_import, "A session that was exported"),
        )
        self.list.addActions([*self.of_chosen, *self.of_others])
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def _action(self, text: str, key: str, slot: Callable[[], object], about: str) -> QAction:
        action = QAction(text, self)
        action.setShortcut(QKeySequence(key))
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        action.setToolTip(f"{about} ({key})" if key else about)
        action.triggered.connect(lambda: slot())
        return action

    def _arrange(self) -> None:
        self.setFixedWidth(_WIDTH)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for action in self.of_chosen:
            buttons.addWidget(_button(action))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addLayout(head("Go on", _ABOUT, *map(_button, self.of_others)))
        column.addWidget(self.place, 1)
        column.addLayout(buttons)

    def _connect(self) -> None:
        self.list.open_requested.connect(self._open)
        self.list.chosen.connect(self._offer)
        self.list.entries.picture_wanted.connect(self._shelf.find_picture)
        self._shelf.listed.connect(self._on_listed)
        self._shelf.picture_found.connect(self._on_picture_found)
        self._shelf.changed.connect(self._on_changed)

    def choose(self, folder: Path) -> None:
        """This session is to be the chosen one when the list comes next."""
        self._wanted = folder

    def _open(self, entry: SessionEntry) -> None:
        if entry.problem:
            self.refused.emit(entry.problem)
        else:
            self.open_requested.emit(entry.folder)

    def _offer(self, entry: SessionEntry | None) -> None:
        for action in self.of_chosen:
            action.setEnabled(entry is not None)

    def _open_chosen(self) -> None:
        if self.list.current:
            self._open(self.list.current)

    def _duplicate(self) -> None:
        if self.list.current:
            self._shelf.duplicate(self.list.current.folder)

    def _throw_away(self) -> None:
        if self.list.current:
            self._shelf.throw_away(self.list.current.folder)

    def _reveal(self) -> None:
        if self.list.current:
            folder = self.list.current.folder
            if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
                self.refused.emit(f"No file manager could be started: the session is in {folder}.")

    def _ask_for_import(self) -> None:
        dialog = QFileDialog(self, "Import a session", str(Path.home()), "Sessions (*.somersault);;All files (*)")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda chosen: self._shelf.bring_in(Path(chosen)))
        dialog.open()

    def _ask_for_folder(self) -> None:
        dialog = QFileDialog(self, "Open the folder of a session", str(Path.home()))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda chosen: self.open_requested.emit(Path(chosen)))
        dialog.open()

    def _on_listed(self, entries: list[SessionEntry]) -> None:
        self.list.set_entries(entries, self._wanted)
        self._wanted = None
        self.place.setCurrentWidget(self.list if entries else self.empty)
        if not self._listed:
            self._listed = True
            self.first_listed.emit()

    def _on_picture_found(self, folder: str, picture: QImage) -> None:
        self.list.entries.set_picture(Path(folder), picture)

    def _on_changed(self, sentence: str, made: Path | None) -> None:
        self._wanted = made
        self.told.emit(sentence)


def _button(action: QAction) -> QPushButton:
    """A button that does what the action does, and is enabled with it."""
    button = QPushButton(action.text())
    button.setObjectName("small")
    button.setToolTip(action.toolTip())
    button.clicked.connect(action.trigger)
    action.changed.connect(lambda: button.setEnabled(action.isEnabled()))
    return button
