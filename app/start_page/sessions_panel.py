"""Saved sessions and their actions, available by key, button and context menu."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QFrame, QLineEdit, QPushButton, QStackedWidget

from app.session.library import SessionLibrary
from app.start_page.session_list import SessionList
from app.style.file_dialog import ask_for_file_to_open, ask_for_folder
from app.style.file_manager import show_folder
from app.style.labels import label
from app.style.layouts import column, row, section_header
from core.session.archive import SUFFIX
from core.session.library import SessionEntry

_WIDTH = 430
_ABOUT = "Saved automatically."
_EMPTY = "Your sessions will be listed here. Click a task to start the first one."


class SessionsPanel(QFrame):
    """The sessions of one library.

    next_selection: folder of the session to select when the list is updated next

    Signals:
        open_requested(object): folder (Path) of the session to open.
        start_over_requested(object): folder (Path) of the session whose answers a new one begins with.
        succeeded(str): a request succeeded; one sentence.
        failed(str): a request failed; one sentence.
        first_listed(): the sessions are listed for the first time.
    """

    open_requested = Signal(object)
    start_over_requested = Signal(object)
    succeeded = Signal(str)
    failed = Signal(str)
    first_listed = Signal()

    def __init__(self, library: SessionLibrary) -> None:
        super().__init__()
        self._library = library
        self.next_selection: Path | None = None
        self._listed = False
        self.list = SessionList()
        self.empty = label("empty", _EMPTY, wrap=True, centred=True)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.list)
        self._make_actions()
        self.setFixedWidth(_WIDTH)
        buttons = row(*map(_button, self.selection_actions), spacing=8)
        header = section_header("Continue", _ABOUT, *map(_button, self.other_actions))
        column(header, (self.stack, 1), buttons, of=self, spacing=12)
        self._enable_actions(None)
        self._connect()

    def _make_actions(self) -> None:
        self.selection_actions = (
            self._action("Open", "", self._open_chosen, "Open the selected session (Enter)"),
            self._action(
                "Duplicate", "Ctrl+D", self._duplicate, "Duplicate the session, to try something else with the copy"
            ),
            self._action(
                "Start over",
                "Ctrl+Shift+N",
                self._start_over,
                "New session with the answers of this one and a new policy",
            ),
            self._action("Trash", "Delete", self._throw_away, "Move the session to Trash"),
            self._action("Folder", "Ctrl+R", self._reveal, "Show the session's folder in the file manager"),
        )
        self.other_actions = (
            self._action("Open folder…", "Ctrl+O", self._ask_for_folder, "Open a session saved elsewhere"),
            self._action(
                "Import session…", "Ctrl+I", self._ask_for_import, "Import an exported session, or drop it on this page"
            ),
        )
        self.list.addActions([*self.selection_actions, *self.other_actions])
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def _action(self, text: str, key: str, slot: Callable[[], object], about: str) -> QAction:
        action = QAction(text, self)
        action.setShortcut(QKeySequence(key))
        action.setAutoRepeat(False)
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        action.setToolTip(f"{about} ({key})" if key else about)
        action.triggered.connect(lambda: slot())
        return action

    def _connect(self) -> None:
        self.list.open_requested.connect(self._open)
        self.list.selected.connect(self._enable_actions)
        self.list.session_model.picture_requested.connect(self._library.find_picture)
        self._library.listed.connect(self._on_listed)
        self._library.picture_found.connect(self.list.session_model.set_picture)
        self._library.changed.connect(self._on_changed)

    def _open(self, entry: SessionEntry) -> None:
        if entry.problem:
            self.failed.emit(entry.problem)
        else:
            self.open_requested.emit(entry.folder)

    def _enable_actions(self, entry: SessionEntry | None) -> None:
        for action in self.selection_actions:
            action.setEnabled(entry is not None)

    def _open_chosen(self) -> None:
        if self.list.current:
            self._open(self.list.current)

    def _duplicate(self) -> None:
        if self.list.current:
            self._library.duplicate(self.list.current.folder)

    def _start_over(self) -> None:
        if self.list.current:
            self.start_over_requested.emit(self.list.current.folder)

    def _throw_away(self) -> None:
        if self.list.current:
            self._library.move_to_trash(self.list.current.folder)

    def _reveal(self) -> None:
        if self.list.current:
            folder = self.list.current.folder
            if not show_folder(folder):
                self.failed.emit(f"No file manager could be started: the session is in {folder}.")

    def _ask_for_import(self) -> None:
        kinds = f"Sessions (*{SUFFIX});;All files (*)"
        ask_for_file_to_open(self, "Import session", Path.home(), kinds, self._library.import_file)

    def _ask_for_folder(self) -> None:
        ask_for_folder(self, "Open session folder", Path.home(), self.open_requested.emit)

    def _on_listed(self, entries: list[SessionEntry]) -> None:
        self.list.set_entries(entries, self.next_selection)
        self.stack.setCurrentWidget(self.list if entries else self.empty)
        if self.next_selection in [entry.folder for entry in entries]:
            self.next_selection = None
            typing = isinstance(QApplication.focusWidget(), QLineEdit)
            if self.isVisible() and not typing:
                self.list.setFocus()
        if not self._listed:
            self._listed = True
            self.first_listed.emit()

    def _on_changed(self, sentence: str, created: Path | None) -> None:
        self.next_selection = created
        self.succeeded.emit(sentence)


def _button(action: QAction) -> QPushButton:
    """Make a button for an action; it is enabled while the action is."""
    button = QPushButton(action.text())
    button.setObjectName("small")
    button.setToolTip(action.toolTip())
    button.clicked.connect(action.trigger)
    action.changed.connect(lambda: button.setEnabled(action.isEnabled()))
    return button
