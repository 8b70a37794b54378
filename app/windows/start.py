"""The start window: tasks to begin with, sessions to go on with, and the form for a new one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QHideEvent, QIcon, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMainWindow,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.keys.commands import Command
from app.keys.key_map import load_key_map
from app.session.library import SessionLibrary
from app.start_page.new_session_form import NewSessionForm
from app.start_page.previews import Preview, Previews
from app.start_page.sessions_panel import SessionsPanel
from app.start_page.task_grid import TaskGrid
from app.style import assets
from app.style.labels import label
from app.style.section_header import head
from app.window_state import restore, save
from core.config import Config
from core.session.session import Session
from core.tasks import CATALOGUE
from core.tasks.gymnasium import PREFIX

_NAME, _WANTED = "start page", QSize(1280, 720)
_STILL = 192
_ABOUT = "You choose the better of two short clips: that is all it learns from."


class StartWindow(QMainWindow):
    """Owns what its pages need: the shelf of sessions and the tasks' pictures. `close_down` ends their threads.

    Signals:
        opened(object): this Session, which is locked from now on, is to be shown.
        closed(): the person has closed the window.
    """

    opened = Signal(object)
    closed = Signal()

    def __init__(
        self,
        shelf: SessionLibrary,
        previews: Previews,
        given: Mapping[str, Any] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.shelf, self.previews = shelf, previews
        self._busy_from: QWidget | None = None
        self.setObjectName("start")  # the style sheet names it
        self.setWindowTitle("Somersault")
        self.setWindowIcon(QIcon(str(assets.path("logo.svg"))))
        self.banner = label("told", wrap=True)
        self.form = NewSessionForm(shelf.root, given or {})
        self.pages = QStackedWidget()
        self.front = self._front()
        self.pages.addWidget(self.front)
        self.pages.addWidget(self.form)
        self._make_frame()
        self._quit = QAction("Quit", self)
        self._quit.triggered.connect(self.close)
        self.addAction(self._quit)
        self._connect()
        restore(self, _NAME, _WANTED)

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
        self.sessions = SessionsPanel(self.shelf)
        columns.addWidget(self.sessions)
        front.addActions([*self.sessions.of_chosen, *self.sessions.of_others])  # their keys work beside the cards too
        return front

    def _tasks(self) -> QVBoxLayout:
        self.grid = TaskGrid(CATALOGUE.values())
        self.other = QPushButton("A &Gymnasium environment…")
        area = QScrollArea(widgetResizable=True)
        area.setWidget(self.grid)
        self.grid.area = area
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout()
        column.setSpacing(12)
        column.addLayout(head("Teach something new", _ABOUT, self.other))
        column.addWidget(area, 1)
        return column

    def _connect(self) -> None:
        self.grid.chosen.connect(self.begin)
        self.other.clicked.connect(lambda: self.begin(PREFIX))
        self.sessions.open_requested.connect(self._open)
        self.sessions.told.connect(self.tell)
        self.sessions.refused.connect(self.tell_refusal)
        self.sessions.first_listed.connect(self._on_first_listed)
        self.form.create_requested.connect(self._create)
        self.form.back_requested.connect(self.go_back)
        self.form.preview_wanted.connect(self.previews.request)
        self.previews.preview_ready.connect(self._on_preview_ready)
        self.previews.preview_refused.connect(self._on_preview_refused)
        self.shelf.opened.connect(self._on_opened)
        self.shelf.progressed.connect(self.tell)
        self.shelf.refused.connect(self.tell_refusal)

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
        self._quit.setShortcuts([QKeySequence(key) for key in load_key_map().keys_for(Command.QUIT)])
        self.shelf.refresh()
        self.previews.hold(False)
        for task in self.grid.missing():
            self.previews.request(task)

    def hideEvent(self, event: QHideEvent) -> None:
        """A session wants the processor and the memory."""
        if not event.spontaneous():
            save(self, _NAME)
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

    def _open(self, folder: Path) -> None:
        self._set_busy(True)
        self.shelf.open(folder)

    def _create(self, folder: Path, config: Config) -> None:
        self._set_busy(True)
        self.shelf.create(folder, config)

    def _on_first_listed(self) -> None:
        """The keys go to what most people come for."""
        if self.pages.currentWidget() is self.front:
            self.sessions.list.setFocus() if self.sessions.list.current else self.grid.focus_card()

    def _on_opened(self, session: Session) -> None:
        self.tell("")
        self.pages.setCurrentWidget(self.front)
        self.opened.emit(session)

    def _on_preview_ready(self, task: str, preview: Preview) -> None:
        self.grid.set_preview(task, preview)
        self.form.set_preview(task, preview)
        self.sessions.list.entries.set_task_picture(task, preview.still(_STILL))

    def _on_preview_refused(self, task: str, sentence: str) -> None:
        self.grid.set_problem(task, sentence)
        self.form.set_refusal(task, sentence)
