"""The start window: tasks to begin with, sessions to go on with, and the form for a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt, QUrl, Signal
from PySide6.QtGui import QAction, QCloseEvent, QDesktopServices, QHideEvent, QIcon, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app import assets
from app.placement import keep_place, restore_place
from app.previews import Preview, Previews
from app.shelf import Shelf
from app.widgets.card_grid import CardGrid
from app.widgets.labels import label
from app.widgets.new_session import NewSession
from app.widgets.session_list import SessionList
from core.config import Config
from core.library import Entry
from core.session import Session
from core.tasks import CATALOGUE
from core.tasks.gymnasium import PREFIX

_NAME, _WANTED = "start page", QSize(1280, 720)
_SIDE, _STILL = 430, 192
_ABOUT_TASKS = "You choose the better of two short clips: that is all it learns from."
_ABOUT_SESSIONS = "Everything is kept."
_EMPTY = "Your sessions will be listed here. Choose a task to begin the first one."


class StartWindow(QMainWindow):
    """Owns what its pages need: the shelf of sessions and the tasks' pictures. `close_down` ends their threads.

    Signals:
        opened(object): this Session, which is locked from now on, is to be shown.
        closed(): the person has closed the window.
    """

    opened = Signal(object)
    closed = Signal()

    def __init__(
        self, shelf: Shelf, previews: Previews, given: Mapping[str, Any] | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.shelf, self.previews = shelf, previews
        self._made: Path | None = None
        self._busy_from: QWidget | None = None
        self.setObjectName("start")  # the style sheet names it
        self.setWindowTitle("Somersault")
        self.setWindowIcon(QIcon(str(assets.path("logo.svg"))))
        self.banner = label("told", wrap=True)
        self.form = NewSession(shelf.root, given or {})
        self.pages = QStackedWidget()
        self.front = self._front()
        self.pages.addWidget(self.front)
        self.pages.addWidget(self.form)
        self._make_frame()
        self._make_actions()
        self._connect()
        restore_place(self, _NAME, _WANTED)

    def _make_frame(self) -> None:
        frame = QWidget()
        column = QVBoxLayout(frame)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.banner)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(frame)
        self.banner.hide()

    def _front(self) -> QWidget:
        front = QWidget()
        columns = QHBoxLayout(front)
        columns.setContentsMargins(28, 20, 28, 20)
        columns.setSpacing(28)
        columns.addLayout(self._tasks(), 1)
        columns.addWidget(self._sessions())
        return front

    def _tasks(self) -> QVBoxLayout:
        self.grid = CardGrid(CATALOGUE.values())
        self.other = QPushButton("A &Gymnasium environment…")
        area = QScrollArea(widgetResizable=True)
        area.setWidget(self.grid)
        self.grid.area = area
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout()
        column.setSpacing(12)
        column.addLayout(_head("Teach something new", _ABOUT_TASKS, self.other))
        column.addWidget(area, 1)
        return column

    def _sessions(self) -> QWidget:
        self.list = SessionList()
        self.empty = label("empty", _EMPTY, wrap=True, centred=True)
        self.list_place = QStackedWidget()
        self.list_place.addWidget(self.empty)
        self.list_place.addWidget(self.list)
        self.buttons = QHBoxLayout()
        self.buttons.setSpacing(8)
        side = QFrame()
        side.setFixedWidth(_SIDE)
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        self.import_button, self.folder_button = QPushButton("Import…"), QPushButton("Open folder…")
        column.addLayout(_head("Go on", _ABOUT_SESSIONS, self.folder_button, self.import_button))
        column.addWidget(self.list_place, 1)
        column.addLayout(self.buttons)
        return side

    def _make_actions(self) -> None:
        """Each has a key, a button below the list, and a place in the list's own menu."""
        self.open_action = self._action("Open", "", self._open_chosen, "Open the chosen session (Enter)")
        self.duplicate_action = self._action(
            "Duplicate", "Ctrl+D", self._duplicate, "A copy to try something else with"
        )
        self.trash_action = self._action("Trash", "Delete", self._throw_away, "Move it to the trash of your desktop")
        self.reveal_action = self._action("Show folder", "Ctrl+R", self._reveal, "Show its folder in the file manager")
        self.import_action = self._action("Import…", "Ctrl+I", self._ask_for_import, "A session that was exported")
        self.folder_action = self._action("Open folder…", "Ctrl+O", self._ask_for_folder, "A session kept elsewhere")
        self.of_chosen = (self.open_action, self.duplicate_action, self.trash_action, self.reveal_action)
        for action in self.of_chosen:
            self.buttons.addWidget(_bound(QPushButton(action.text()), action))
        _bound(self.import_button, self.import_action)
        _bound(self.folder_button, self.folder_action)
        self.list.addActions([*self.of_chosen, self.import_action, self.folder_action])
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._offer(None)

    def _action(self, text: str, key: str, slot: Callable[[], object], about: str) -> QAction:
        action = QAction(text, self)
        action.setShortcut(QKeySequence(key))
        action.setToolTip(f"{about} ({key})" if key else about)
        action.triggered.connect(lambda: slot())
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.front.addAction(action)
        return action

    def _connect(self) -> None:
        self.grid.chosen.connect(self.begin)
        self.other.clicked.connect(lambda: self.begin(PREFIX))
        self.list.open_requested.connect(self._open)
        self.list.chosen.connect(self._offer)
        self.list.entries.picture_wanted.connect(self.shelf.find_picture)
        self.form.create_requested.connect(self._create)
        self.form.back_requested.connect(self.go_back)
        self.form.preview_wanted.connect(self.previews.request)
        self.previews.preview_ready.connect(self._on_preview_ready)
        self.previews.preview_refused.connect(self._on_preview_refused)
        self.shelf.listed.connect(self._on_listed)
        self.shelf.picture_found.connect(self._on_picture_found)
        self.shelf.opened.connect(self._on_opened)
        self.shelf.changed.connect(self._on_changed)
        self.shelf.progressed.connect(self.tell)
        self.shelf.refused.connect(self.tell_refusal)

    def choose(self, folder: Path) -> None:
        """This session is to be the chosen one when the list is next shown."""
        self._made = folder

    def begin(self, task: str) -> None:
        """The form for a new session of this task."""
        self.tell("")
        self.pages.setCurrentWidget(self.form)
        self.form.begin(task)

    def go_back(self) -> None:
        task = self.form.draft.task
        self.pages.setCurrentWidget(self.front)
        self.grid.focus_card(task)

    def tell(self, sentence: str) -> None:
        """'' for nothing."""
        self._tell(sentence, "")

    def tell_refusal(self, sentence: str) -> None:
        self._set_busy(False)
        self._tell(sentence, "refusal")

    def _tell(self, sentence: str, kind: str) -> None:
        self.banner.setText(sentence)
        self.banner.setProperty("kind", kind)
        self.banner.style().polish(self.banner)  # the style sheet looks at `kind`
        self.banner.setVisible(bool(sentence))

    def showEvent(self, event: QShowEvent) -> None:
        """Each time it comes up: what may have changed meanwhile, and the pictures that are not there."""
        if event.spontaneous():  # it was only minimised
            return
        self._set_busy(False)
        self.shelf.refresh()
        self.previews.hold(False)
        for task in self.grid.missing():
            self.previews.request(task)

    def hideEvent(self, event: QHideEvent) -> None:
        """A session wants the processor and the memory."""
        if not event.spontaneous():
            keep_place(self, _NAME)
            self.previews.hold(True)
            self.grid.let_go()
            self.form.let_go()

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.closed.emit()

    def close_down(self) -> None:
        """Ends every thread and child; blocks until they have ended."""
        self.previews.close()
        self.shelf.close()

    def _set_busy(self, on: bool) -> None:
        """While a session is being opened nothing else can be asked for; then the focus is where it was."""
        if on:
            self._busy_from = self.focusWidget()
        self.pages.setEnabled(not on)
        if not on and self._busy_from is not None:
            self._busy_from.setFocus()
            self._busy_from = None

    def _open(self, entry: Entry) -> None:
        if entry.problem:
            self.tell_refusal(entry.problem)
            return
        self._set_busy(True)
        self.shelf.open(entry.folder)

    def _create(self, folder: Path, config: Config) -> None:
        self._set_busy(True)
        self.shelf.create(folder, config)

    def _offer(self, entry: Entry | None) -> None:
        for action in self.of_chosen:
            action.setEnabled(entry is not None)

    def _open_chosen(self) -> None:
        if self.list.current:
            self._open(self.list.current)

    def _duplicate(self) -> None:
        if self.list.current:
            self.shelf.duplicate(self.list.current.folder)

    def _throw_away(self) -> None:
        if self.list.current:
            self.shelf.throw_away(self.list.current.folder)

    def _reveal(self) -> None:
        if self.list.current:
            folder = self.list.current.folder
            if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
                self.tell_refusal(f"No file manager could be started: the session is in {folder}.")

    def _ask_for_import(self) -> None:
        dialog = QFileDialog(self, "Import a session", str(Path.home()), "Sessions (*.somersault);;All files (*)")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda chosen: self.shelf.bring_in(Path(chosen)))
        dialog.open()

    def _ask_for_folder(self) -> None:
        dialog = QFileDialog(self, "Open the folder of a session", str(Path.home()))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda chosen: self.shelf.open(Path(chosen)))
        dialog.open()

    def _on_listed(self, entries: list[Entry]) -> None:
        first = self.list_place.currentWidget() is self.empty
        self.list.set_entries(entries, self._made)
        self._made = None
        self.list_place.setCurrentWidget(self.list if entries else self.empty)
        if first and self.pages.currentWidget() is self.front:
            self.list.setFocus() if entries else self.grid.focus_card()

    def _on_picture_found(self, folder: str, picture: object) -> None:
        self.list.entries.set_picture(Path(folder), picture)  # type: ignore[arg-type]

    def _on_opened(self, session: Session) -> None:
        self.tell("")
        self.pages.setCurrentWidget(self.front)
        self.opened.emit(session)

    def _on_changed(self, sentence: str, made: Path | None) -> None:
        self._made = made
        self.tell(sentence)

    def _on_preview_ready(self, task: str, preview: Preview) -> None:
        self.grid.set_preview(task, preview)
        self.form.set_preview(task, preview)
        self.list.entries.set_task_picture(task, preview.still(_STILL))

    def _on_preview_refused(self, task: str, sentence: str) -> None:
        self.grid.set_problem(task, sentence)
        self.form.set_refusal(task, sentence)


def _head(title: str, about: str, *buttons: QPushButton) -> QHBoxLayout:
    words = QVBoxLayout()
    words.setSpacing(2)
    words.addWidget(label("pageTitle", title))
    words.addWidget(label("settingHelp", about, wrap=True))
    head = QHBoxLayout()
    head.setSpacing(8)
    head.addLayout(words, 1)
    for made in buttons:
        made.setObjectName("small")
        head.addWidget(made, 0, Qt.AlignmentFlag.AlignBottom)
    return head


def _bound(button: QPushButton, action: QAction) -> QPushButton:
    """A button that does what the action does, and is enabled with it."""
    button.setObjectName("small")
    button.setToolTip(action.toolTip())
    button.clicked.connect(action.trigger)
    action.changed.connect(lambda: button.setEnabled(action.isEnabled()))
    return button
