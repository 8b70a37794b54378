"""The start window: tasks to teach, saved sessions to continue, and the form for a new session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QHideEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QMainWindow, QPushButton, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from app.keys.commands import Command
from app.keys.key_map import load_key_map
from app.session.library import SessionLibrary
from app.start_page.new_session_form import NewSessionForm
from app.start_page.previews import Preview, Previews
from app.start_page.sessions_panel import SessionsPanel
from app.start_page.task_grid import TaskGrid
from app.style.labels import label
from app.style.layouts import column, row, section_header
from app.window_state import restore, save
from core.config import Config
from core.session.session import Session
from core.tasks import CATALOGUE
from core.tasks.gymnasium import PREFIX

_STATE_NAME, _SIZE = "start page", QSize(1280, 720)
_THUMBNAIL = 192
_ABOUT = "It learns only from your choices between two short clips."


class StartWindow(QMainWindow):
    """Owns the session library and the task previews; `close_down` ends their threads.

    Signals:
        opened(object): this Session was opened and locked; show it.
        closed(): the user closed the window.
    """

    opened = Signal(object)
    closed = Signal()

    def __init__(self, library: SessionLibrary, previews: Previews, given: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.library, self.previews = library, previews
        self._busy_from: QWidget | None = None
        self.setObjectName("start")  # the style sheet names it
        self.setWindowTitle("Somersault")
        self.banner = label("message", wrap=True)
        self.form = NewSessionForm(library.root, given or {})
        self.pages = QStackedWidget()
        self.front = self._make_front()
        self.pages.addWidget(self.front)
        self.pages.addWidget(self.form)
        frame = QWidget()
        column(self.banner, (self.pages, 1), of=frame, spacing=0)
        self.setCentralWidget(frame)
        self.banner.hide()
        self._quit = QAction("Quit", self)
        self._quit.triggered.connect(self.close)
        self.addAction(self._quit)
        self._connect()
        restore(self, _STATE_NAME, _SIZE)

    def _make_front(self) -> QWidget:
        front = QWidget()
        tasks, self.sessions = self._make_tasks(), SessionsPanel(self.library)
        row((tasks, 1), self.sessions, of=front, margins=(28, 20, 28, 20), spacing=28)
        front.addActions([*self.sessions.selection_actions, *self.sessions.other_actions])  # so keys work everywhere
        return front

    def _make_tasks(self) -> QVBoxLayout:
        self.grid = TaskGrid(CATALOGUE.values())
        self.other = QPushButton("A &Gymnasium environment…")
        area = QScrollArea(widgetResizable=True)
        area.setWidget(self.grid)
        self.grid.area = area
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        return column(section_header("Teach something new", _ABOUT, self.other), (area, 1), spacing=12)

    def _connect(self) -> None:
        self.grid.chosen.connect(self.show_form)
        self.other.clicked.connect(lambda: self.show_form(PREFIX))
        self.sessions.open_requested.connect(self._open)
        self.sessions.succeeded.connect(self.show_message)
        self.sessions.failed.connect(self.show_error)
        self.sessions.first_listed.connect(self._on_first_listed)
        self.form.create_requested.connect(self._create)
        self.form.back_requested.connect(self.go_back)
        self.form.preview_requested.connect(self.previews.request)
        self.previews.preview_ready.connect(self._on_preview_ready)
        self.previews.preview_refused.connect(self._on_preview_refused)
        self.library.opened.connect(self._on_opened)
        self.library.progressed.connect(self.show_message)
        self.library.refused.connect(self.show_error)

    def show_form(self, task: str) -> None:
        self.show_message("")
        self.pages.setCurrentWidget(self.form)
        self.form.reset(task)

    def go_back(self) -> None:
        task = self.form.draft.task
        self.pages.setCurrentWidget(self.front)
        self.grid.focus_card(task)

    def show_message(self, sentence: str) -> None:
        """Show a message above the page; '' hides it."""
        self._set_banner(sentence, "")

    def show_error(self, sentence: str) -> None:
        self._set_busy(False)
        self._set_banner(sentence, "refusal")

    def _set_banner(self, sentence: str, kind: str) -> None:
        self.banner.setText(sentence)
        self.banner.setProperty("kind", kind)
        self.banner.style().polish(self.banner)  # the style sheet looks at `kind`
        self.banner.setVisible(bool(sentence))

    def showEvent(self, event: QShowEvent) -> None:
        """Refresh the sessions and keys, which may have changed, and request missing previews."""
        if event.spontaneous():  # restored after being minimized
            return
        self._set_busy(False)
        self._quit.setShortcuts([QKeySequence(key) for key in load_key_map().keys_for(Command.QUIT)])
        self.library.refresh()
        self.previews.hold(False)
        for task in self.grid.missing():
            self.previews.request(task)

    def hideEvent(self, event: QHideEvent) -> None:
        """Free memory and the processor for the session."""
        if not event.spontaneous():
            save(self, _STATE_NAME)
            self.previews.hold(True)
            self.grid.free_previews()
            self.form.picture.set_preview(None)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.closed.emit()

    def close_down(self) -> None:
        """End every thread and child process; blocks until they have ended."""
        self.previews.close()
        self.library.close()

    def _set_busy(self, on: bool) -> None:
        """Disable the page while a session is opened; afterwards the focus returns to its widget."""
        if on:
            self._busy_from = self.focusWidget()
        self.pages.setEnabled(not on)
        if not on and self._busy_from is not None:
            self._busy_from.setFocus()
            self._busy_from = None

    def _open(self, folder: Path) -> None:
        self._set_busy(True)
        self.library.open(folder)

    def _create(self, folder: Path, config: Config) -> None:
        self._set_busy(True)
        self.library.create(folder, config)

    def _on_first_listed(self) -> None:
        """Focus the saved sessions, or the tasks if there are none."""
        if self.pages.currentWidget() is self.front:
            self.sessions.list.setFocus() if self.sessions.list.current else self.grid.focus_card()

    def _on_opened(self, session: Session) -> None:
        self.show_message("")
        self.pages.setCurrentWidget(self.front)
        self.opened.emit(session)

    def _on_preview_ready(self, task: str, preview: Preview) -> None:
        self.grid.set_preview(task, preview)
        self.form.set_preview(task, preview)
        self.sessions.list.entries.set_task_picture(task, preview.still(_THUMBNAIL))

    def _on_preview_refused(self, task: str, sentence: str) -> None:
        self.grid.set_error(task, sentence)
        self.form.set_preview_error(task, sentence)
