"""The start window: tasks, saved sessions, the form for a new session, and the page for a new behaviour."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QShowEvent,
)
from PySide6.QtWidgets import QDialog, QMainWindow, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.behaviours.draft import BehaviourDraft
from app.behaviours.library import BehaviourLibrary, OwnBehaviour
from app.behaviours.page import BehaviourPage
from app.behaviours.practice import Practised
from app.behaviours.scenes import Scenes
from app.keys.commands import Command
from app.keys.key_map import load_key_map
from app.keys.shortcuts import bind
from app.menus.key_list import KeyList
from app.new_session.new_session_form import NewSessionForm
from app.previews.previews import Preview, Previews
from app.session.factory import session_config
from app.session.library import SessionLibrary
from app.start_page.sessions_panel import SessionsPanel
from app.start_page.task_grid import DELETE, DUPLICATE, EDIT, EDIT_COPY, EXPORT, SETTINGS, TaskGrid
from app.style.file_dialog import ask_for_file, ask_for_file_to_open
from app.style.glossary import open_glossary, word_of
from app.style.labels import press_on_enter
from app.style.layouts import column, row, section_header
from app.style.message_bar import MessageBar
from app.style.scroll_area import ScrollArea
from app.style.search_field import SearchField
from app.window_state import restore, save
from app.workers.trash import Trashed
from core.behaviours.behaviour import SUFFIX, Behaviour
from core.behaviours.robot_model import RobotModel
from core.behaviours.shipped import shipped_behaviours
from core.config import Config
from core.errors import UserError
from core.session.archive import SUFFIX as ARCHIVE_SUFFIX
from core.session.library import SessionEntry
from core.session.session import Session
from core.session.taking import Beginning
from core.tasks import CATALOGUE, behaviours
from core.tasks.gymnasium import GYM_PREFIX

_STATE_NAME, _SIZE = "start page", QSize(1280, 720)
_THUMBNAIL = 192
_ABOUT = "Click a task to start. You teach only by choosing the better of two clips."


class StartWindow(QMainWindow):
    """Owns the libraries, the previews and the scenes; `close_down` ends their threads.

    Behaviour files, MJCF files and exported sessions can be dropped on it.

    Signals:
        opened(object): this Session was opened and locked, and is to be shown.
        closed(): the person closed the window.
    """

    opened = Signal(object)
    closed = Signal()

    def __init__(
        self,
        library: SessionLibrary,
        previews: Previews,
        behaviours: BehaviourLibrary,
        scenes: Scenes,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        """given: settings from the command line"""
        super().__init__()
        self.library, self.previews, self.behaviours, self.scenes = library, previews, behaviours, scenes
        self._given = dict(given or {})
        self._own: dict[str, OwnBehaviour] = {}
        self._own_listed = False
        self._busy_from: QWidget | None = None
        self.setWindowTitle("Somersault")
        self.banner = MessageBar("message", "Undo", margins=(30, 6, 30, 6))
        self.banner.buttons[0].setObjectName("small")
        self.form = NewSessionForm(library.root, self._given)
        self.behaviour_page = BehaviourPage(scenes)
        self.pages = QStackedWidget()
        self.front = self._make_front()
        self.pages.addWidget(self.front)
        self.pages.addWidget(self.form)
        self.pages.addWidget(self.behaviour_page)
        self.setAcceptDrops(True)
        frame = QWidget()
        column(self.banner, (self.pages, 1), of=frame, spacing=0)
        self.setCentralWidget(frame)
        self._undo: Callable[[], object] | None = None
        self._just_saved = ""
        """Text of the saved behaviour whose card gets the focus once it is listed."""
        self._commands = self._make_commands()
        self._asked_about: list[BehaviourDraft] = []
        """Copies of the drafts that the warning on screen is about, which says that quitting would discard them."""
        self._connect()
        restore(self, _STATE_NAME, _SIZE)

    def _make_front(self) -> QWidget:
        front = QWidget()
        tasks, self.sessions = self._make_tasks(), SessionsPanel(self.library)
        row((tasks, 1), self.sessions, of=front, margins=(28, 20, 28, 20), spacing=28)
        front.addActions(self.sessions.other_actions)  # so their keys work everywhere
        slots = (("Ctrl+F",), self._on_find_requested), (("Ctrl+Z",), self._on_undo_requested)
        bind(front, slots, Qt.ShortcutContext.WindowShortcut)
        return front

    def _make_tasks(self) -> QVBoxLayout:
        self.grid = TaskGrid([*CATALOGUE, *behaviours()])
        self.import_behaviour = QPushButton("&Import behaviour…")
        self.import_behaviour.setToolTip("Add a behaviour file to your behaviours; you can also drop it on this page")
        self.other = QPushButton("A &Gymnasium environment…")
        self.search = SearchField("Search (Ctrl+F)", "Search tasks")
        self.search.textChanged.connect(self.grid.search)
        self.area = ScrollArea(self.grid)
        return column(
            section_header("Teach something new", _ABOUT, self.import_behaviour, self.other),
            self.search,
            (self.area, 1),
            spacing=12,
        )

    def _make_commands(self) -> dict[Command, QAction]:
        """Make the commands that have the same keys as in a session."""
        functions: dict[Command, Callable[[], object]] = {
            Command.QUIT: self._on_quit,
            Command.KEY_LIST: lambda: KeyList(load_key_map(), self, pages_first=True).open(),
            Command.GLOSSARY: lambda: open_glossary(self, word_of(self.focusWidget())),
        }
        actions = {command: QAction(self, autoRepeat=False) for command in functions}
        for command, action in actions.items():
            action.triggered.connect(functions[command])
        self.addActions([*actions.values()])
        return actions

    def _connect(self) -> None:
        self.grid.chosen.connect(self._start)
        self.grid.new_requested.connect(self.show_new_behaviour)
        self.grid.action_chosen.connect(self._on_card_action)
        self.import_behaviour.clicked.connect(self._ask_for_behaviour)
        self.other.clicked.connect(lambda: self.show_form(GYM_PREFIX))
        self.sessions.open_requested.connect(self._open)
        self.sessions.start_over_requested.connect(self.start_over)
        self.sessions.succeeded.connect(self.show_message)
        self.sessions.failed.connect(self.show_problem)
        self.sessions.first_listed.connect(self._on_first_listed)
        self.form.create_requested.connect(self._create)
        self.form.back_requested.connect(self.go_back)
        self.form.preview_requested.connect(self.previews.request)
        self.form.folder.names_requested.connect(self.library.list_names)
        self.library.names_listed.connect(self.form.folder.set_taken)
        self.library.changed.connect(self._on_library_changed)
        self.behaviour_page.preview_requested.connect(partial(self.previews.request, urgent=True))
        self.behaviour_page.back_requested.connect(self.leave_behaviour)
        self.behaviour_page.save_requested.connect(self._save_behaviour)
        self.behaviour_page.start_requested.connect(self._start_behaviour)
        self.behaviour_page.robot_file_chosen.connect(self._read_robot)
        self.behaviours.listed.connect(self._on_behaviours_listed)
        self.behaviours.changed.connect(self.show_message)
        self.behaviours.refused.connect(self.show_problem)
        self.behaviours.problem_found.connect(self.show_problem)
        self.previews.preview_ready.connect(self._on_preview_ready)
        self.previews.preview_refused.connect(self._on_preview_refused)
        self.library.listed.connect(self._on_sessions_listed)
        self.library.opened.connect(self._on_opened)
        self.library.progressed.connect(self._on_progressed)
        self.library.not_opened.connect(self.show_failure)
        self.library.refused.connect(self.show_problem)
        self.library.moved_to_trash.connect(partial(self._offer_undo, self.library.restore))
        self.behaviours.moved_to_trash.connect(partial(self._offer_undo, self.behaviours.restore))
        self.banner.buttons[0].clicked.connect(self._on_undo_requested)

    def _on_find_requested(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    def _start(self, task: str) -> None:
        """Teach a task in a new session with the usual settings."""
        self._set_busy(True)
        try:
            self.library.create(session_config(task, self._given))
        except UserError as error:
            self.show_failure(str(error))

    def show_form(self, task: str) -> None:
        self.show_message("")
        self.pages.setCurrentWidget(self.form)
        self.form.open(task)

    def show_new_behaviour(self) -> None:
        self._show_behaviour_page()
        self.behaviour_page.open_new()

    def _show_behaviour_page(self) -> None:
        self.show_message("")
        self.pages.setCurrentWidget(self.behaviour_page)

    def leave_behaviour(self) -> None:
        """Return to the cards. The page keeps unsaved changes, and a message says so."""
        self.pages.setCurrentWidget(self.front)
        unsaved = self.behaviour_page.unsaved_title
        self.behaviour_page.leave()
        self.grid.focus_card()
        kept = f"The changes to {unsaved} are not saved. They stay on its page until you quit."
        self.show_message(kept if unsaved else "")

    def go_back(self) -> None:
        """Return from the form to the cards."""
        task = self.form.draft.task
        self.show_message("")
        self.pages.setCurrentWidget(self.front)
        self.grid.focus_card(task)

    def show_message(self, sentence: str) -> None:
        """Show a message above the page; '' hides it."""
        self._show_in_banner(sentence)

    def _show_in_banner(self, sentence: str, kind: str = "", undo: Callable[[], None] | None = None) -> None:
        """Replace the message above the page. undo: what its Undo button does; None for no button"""
        self._undo, self._asked_about = undo, []
        self.banner.show_message(sentence, kind, with_buttons=undo is not None)

    def _on_progressed(self, sentence: str) -> None:
        """Show the progress of a request, unless the banner offers Undo."""
        if self._undo is None:
            self.show_message(sentence)

    def show_failure(self, sentence: str) -> None:
        """End the wait for a session or a saved behaviour, and show the reason for the failure."""
        self._set_busy(False)
        self.show_problem(sentence)

    def show_problem(self, sentence: str) -> None:
        """Show an error without ending the wait for a session that is being opened."""
        self._show_in_banner(sentence, "refusal")

    def _offer_undo(self, restore: Callable[[Trashed], None], trashed: Trashed) -> None:
        """Report a move to the trash, with an Undo button that works once if the move can be undone."""
        undo = None if trashed.path is None else partial(restore, trashed)
        self._show_in_banner(f"Moved {trashed.name} to Trash.", undo=undo)

    def _on_undo_requested(self) -> None:
        if undo := self._undo:
            self.show_message("")
            undo()

    def showEvent(self, event: QShowEvent) -> None:
        """Refresh the sessions and keys, which may have changed, and request missing previews."""
        if event.spontaneous():  # restored after being minimized
            return
        self._set_busy(False)
        keys = load_key_map()
        for command, action in self._commands.items():
            action.setShortcuts([QKeySequence(key) for key in keys.keys_for(command)])
        self._refresh_lists()
        self.previews.hold(False)
        for task in self.grid.missing():
            self.previews.request(task)

    def changeEvent(self, event: QEvent) -> None:
        """List the files again when the person returns from another window, such as an editor."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.isVisible():
            self._refresh_lists()

    def _refresh_lists(self) -> None:
        self.library.refresh()
        self.behaviours.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Free memory and the processor for the session, and leave it the keyboard."""
        if not event.spontaneous():
            for dialog in self.findChildren(QDialog):
                dialog.close()
            save(self, _STATE_NAME)
            self.previews.hold(True)
            self.grid.free_previews()
            self.form.picture.set_preview(None)
            self.behaviour_page.robots.free_previews()
            self.behaviour_page.leave()
            self.behaviour_page.forget_practice()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not press_on_enter(self, event):
            super().keyPressEvent(event)

    def _on_quit(self) -> None:
        if not self.keeps_open():
            self.close()

    def keeps_open(self) -> bool:
        """Return True, and show a warning, if quitting would discard a draft; False if it was seen and nothing changed since."""
        unsaved = self.behaviour_page.unsaved_drafts()
        if not unsaved or self.isVisible() and unsaved == self._asked_about:
            return False
        titles = " and ".join(draft.shown_title for draft in unsaved)
        save = "save them" if all(draft.behaviour for draft in unsaved) else "complete and save them"
        self.show_problem(f"Quitting discards the changes to {titles}: {save} first, or quit again.")
        self._asked_about = unsaved
        return True

    def closeEvent(self, event: QCloseEvent) -> None:
        if event.spontaneous() and self.keeps_open():
            event.ignore()
            return
        super().closeEvent(event)
        self.closed.emit()

    def close_down(self) -> None:
        """End every thread and child process; blocks until they have ended."""
        self.previews.close()
        self.scenes.close()
        self.behaviours.close()
        self.library.close()

    def _set_busy(self, on: bool) -> None:
        """Disable the page while a session is opened; afterwards the focus returns to its widget."""
        if on and self.pages.isEnabled():
            self._busy_from = self.focusWidget()
        self.pages.setEnabled(not on)
        if not on and self._busy_from is not None:
            if self._busy_from.isVisible():
                self._busy_from.setFocus()
            else:  # of a page that was left meanwhile
                self.grid.focus_card()
            self._busy_from = None

    def _open(self, folder: Path) -> None:
        self._set_busy(True)
        self.library.open(folder)

    def start_over(self, folder: Path) -> None:
        """Teach a session's task again in a new session, which begins with the answers given so far."""
        self._set_busy(True)
        self.library.start_over(folder)

    def _create(self, folder: Path, config: Config, begin_from: Beginning | None) -> None:
        self._set_busy(True)
        self.library.create(config, folder, begin_from)

    def _on_card_action(self, task: str, action: str) -> None:
        if action == SETTINGS:
            self.show_form(task)
            return
        own = self._own.get(task)
        behaviour = own.behaviour if own else shipped_behaviours()[task]
        if action in (EDIT, EDIT_COPY):
            self._show_behaviour_page()
            self.behaviour_page.open_behaviour(behaviour, own.path if own else None)
        elif action == EXPORT:
            export = partial(self.behaviours.export, behaviour)
            ask_for_file(self, "Export behaviour", f"{behaviour.name}{SUFFIX}", export)
        elif own is not None and action == DUPLICATE:
            self.behaviours.duplicate(own)
        elif own is not None and action == DELETE:
            self.behaviours.move_to_trash(own)

    def _ask_for_behaviour(self) -> None:
        kinds = f"Behaviours (*{SUFFIX});;All files (*)"
        ask_for_file_to_open(self, "Import behaviour", Path.home(), kinds, self.behaviours.import_file)

    def _save_behaviour(self, behaviour: Behaviour, path: Path | None) -> None:
        self._set_busy(True)
        self.behaviours.save(behaviour, path, self._on_behaviour_saved, self.show_failure)

    def _start_behaviour(self, behaviour: Behaviour, path: Path | None, answers: Practised) -> None:
        self._set_busy(True)
        self.behaviours.save(behaviour, path, partial(self._start_saved, answers), self.show_failure)

    def _on_behaviour_saved(self, own: OwnBehaviour) -> None:
        self.behaviour_page.saved(own.path)
        self._set_busy(False)
        self.leave_behaviour()
        self._just_saved = own.text
        self.show_message(f"Saved {own.behaviour.title}.")

    def _start_saved(self, answers: Practised, own: OwnBehaviour) -> None:
        self.behaviour_page.saved(own.path)
        try:
            config, begin = session_config(own.text, self._given), self.behaviour_page.begin_from.chosen
            self.library.create(config, begin_from=begin, answers=answers)
        except UserError as error:
            self.show_failure(str(error))

    def _on_behaviours_listed(self, listed: list[OwnBehaviour]) -> None:
        added = {own.text for own in listed} - set(self._own) if self._own_listed else set()
        self._own, self._own_listed = {own.text: own for own in listed}, True
        self.grid.set_own(self._own)
        if any(self.grid.cards[text].isHidden() for text in added):  # the search does not find it
            self.search.clear()
        for own in listed:
            if own.behaviour.model is not None:
                self.behaviour_page.add_robot(own.behaviour.robot, own.behaviour.model, chosen=False)
        if self._just_saved in self._own and self.pages.currentWidget() is self.front:
            self.grid.focus_card(self._just_saved)
        self._just_saved = ""
        if self.isVisible():
            for task in self.grid.missing():
                if task in self._own:
                    self.previews.request(task)

    def _on_library_changed(self) -> None:
        """Look for the names that are taken again: an imported session may have the proposed one."""
        if self.pages.currentWidget() is self.form:
            self.form.folder.refresh()

    def _on_sessions_listed(self, entries: list[SessionEntry]) -> None:
        found = {entry.folder: entry.summary.task for entry in entries if entry.summary and not entry.problem}
        for page in (self.form, self.behaviour_page):
            page.begin_from.set_sessions(found)

    def _read_robot(self, path: Path) -> None:
        self.show_message(f"Reading {path.name}…")
        self.behaviours.read_robot(path, partial(self._on_robot_read, self._draft_on_screen))

    @property
    def _draft_on_screen(self) -> BehaviourDraft | None:
        return self.behaviour_page.making if self.pages.currentWidget() is self.behaviour_page else None

    def _on_robot_read(self, wanted: BehaviourDraft | None, name: str, model: RobotModel) -> None:
        """wanted: draft that was on screen when the file was chosen; None if another page was"""
        self.show_message("")
        if not self.isVisible():  # a session has been opened meanwhile, which needs the processor
            return
        if wanted is None and self.pages.currentWidget() is self.front:
            self.show_new_behaviour()
            wanted = self._draft_on_screen
        here = wanted is not None and self._draft_on_screen is wanted
        title = self.behaviour_page.add_robot(name, model, chosen=here)
        if not here:
            self.show_message(f"{title} can now be chosen as the robot of a behaviour of your own.")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped_file(event.mimeData()) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Import a behaviour file or an exported session, or offer the robot of an MJCF file on the page of behaviours."""
        path = _dropped_file(event.mimeData())
        if path is None or not self.pages.isEnabled():
            return
        event.acceptProposedAction()
        if path.suffix.lower() == ".xml":
            self._read_robot(path)
        elif path.suffix.lower() == ARCHIVE_SUFFIX:
            self.library.import_file(path)
        else:
            self.behaviours.import_file(path)

    def _on_first_listed(self) -> None:
        """Focus the saved sessions, or the tasks if there are none."""
        if self.pages.currentWidget() is self.front:
            self.sessions.list.setFocus() if self.sessions.list.current else self.grid.focus_card()

    def _on_opened(self, session: Session) -> None:
        self.show_message("")
        self.pages.setCurrentWidget(self.front)
        self.behaviour_page.leave()
        self.behaviour_page.begin_from.reset()
        self.form.forget()
        self.opened.emit(session)

    def _on_preview_ready(self, task: str, preview: Preview) -> None:
        if self.isHidden():  # a session has been opened meanwhile, which needs the memory
            return
        self.grid.set_preview(task, preview)
        self.form.set_preview(task, preview)
        self.behaviour_page.set_preview(task, preview)
        self.sessions.list.session_model.set_task_picture(task, preview.still(_THUMBNAIL))

    def _on_preview_refused(self, task: str, sentence: str) -> None:
        self.grid.set_error(task, sentence)
        self.form.set_preview_error(task, sentence)
        self.behaviour_page.set_preview_error(task, sentence)


def _dropped_file(data: QMimeData) -> Path | None:
    """The behaviour file, MJCF file or exported session that is dropped; None if it is anything else."""
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    known = SUFFIX, ".xml", ARCHIVE_SUFFIX
    return paths[0] if len(paths) == 1 and paths[0].suffix.lower() in known else None
