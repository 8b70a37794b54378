"""The program with a window: from the command line to the exit code."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication

from app.command_line import given, parsed
from app.crash import CrashReporter
from app.labelling.last_teacher import kept_teacher
from app.session.controller import Controller
from app.session.factory import new_config, opened, sessions_folder
from app.session.library import SessionLibrary
from app.session.summary_writer import SummaryWriter
from app.start_page.previews import Previews
from app.style import theme
from app.windows.main import MainWindow
from app.windows.start import StartWindow
from core.errors import UserError
from core.io.session_log import NAME, session_log, warnings_to_stderr
from core.session.session import Session
from core.system.child_process import JobProcess

log = logging.getLogger(__name__)
_PULSE_MS = 250
"""How often Python gets to run a signal's handler while nothing happens in the window."""


def run(arguments: list[str]) -> int:
    """Opens a window and blocks until all is closed. UserError where there is no window to tell it in yet."""
    warnings_to_stderr("%(levelname)s %(name)s: %(message)s")
    options = parsed(arguments)
    named = options.task is not None or options.session is not None
    session = opened(options) if named else None
    if not named:
        new_config(options)  # bad numbers are told of now, and not only when the form shows them
    app = QApplication(sys.argv[:1])
    app.setApplicationName("Somersault")
    app.setQuitOnLastWindowClosed(False)  # the children end first; the program says when
    theme.apply(app)
    program = Application(options)
    program.crash.install()
    program.ended.connect(app.quit)
    _quit_on_signals(program)
    if options.quit_after is not None:
        QTimer.singleShot(round(1000 * max(0.0, options.quit_after)), program.quit)
    program.begin(session)
    code = app.exec()
    program.close_down()
    return code


@dataclass(frozen=True)
class _Open:
    """A session on screen, and what ends with it."""

    controller: Controller
    window: MainWindow
    keeper: SummaryWriter
    stack: ExitStack


class Application(QObject):
    """Goes from the start window to a session and back. It ends with the window that it was started with.

    Signals:
        ended(): no window is left.
    """

    ended = Signal()

    def __init__(self, options: argparse.Namespace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._options = options
        self.start: StartWindow | None = None
        self.open: _Open | None = None
        self._returns, self._quitting = False, False
        self.crash = CrashReporter(parent=QApplication.instance())
        self.crash.quit_requested.connect(self.quit)
        self._pulse = QTimer(self, interval=_PULSE_MS)
        self._pulse.timeout.connect(lambda: None)
        self._pulse.start()

    def begin(self, session: Session | None) -> None:
        """With this session, or with the start window where there is none."""
        if session is None:
            self.show_start()
        else:
            self._returns = False
            self._show(session, self._options.teacher)

    def show_start(self, last: Path | None = None) -> None:
        """last: the session that was just closed."""
        self._returns = True  # from here on every session leads back
        if self.start is None:
            shelf, previews = SessionLibrary(sessions_folder()), Previews(JobProcess)
            self.start = StartWindow(shelf, previews, given(self._options))
            self.start.opened.connect(self._on_opened)
            self.start.closed.connect(self.quit)
        if last:
            self.start.sessions.choose(last)
        self.start.show()

    def quit(self) -> None:
        """Closes what is open; `ended` follows."""
        self._quitting = True
        if self.open:
            self.open.window.close()
        else:
            self.ended.emit()

    def close_down(self) -> None:
        """After `ended`: ends the threads of the start window."""
        if self.start:
            self.start.hide()
            self.start.close_down()

    def _on_opened(self, session: Session) -> None:
        assert self.start is not None
        if self._quitting:
            session.close()
            return
        try:
            self._show(session)
        except UserError as error:
            session.close()
            self.start.tell_refusal(str(error))
            return
        self.start.hide()

    def _show(self, session: Session, teacher: str | None = None) -> None:
        controller = Controller(session, JobProcess)
        controller.labelling.set_teacher(teacher or kept_teacher(session))
        stack = ExitStack()
        stack.enter_context(session_log(session.folder))
        window = MainWindow(controller)
        window.closed.connect(self._on_closed)
        window.start_page_requested.connect(self._on_start_page_requested)
        window.quit_requested.connect(self.quit)
        self.crash.log_file = str(session.folder / NAME)
        self.open = _Open(controller, window, SummaryWriter(controller), stack)
        window.show()
        controller.start()

    def _on_start_page_requested(self) -> None:
        self._returns = True

    def _on_closed(self) -> None:
        assert self.open is not None
        ended, self.open = self.open, None
        self.crash.log_file = ""
        ended.keeper.close()
        ended.stack.close()
        for part in (ended.keeper, ended.window, ended.controller):
            part.deleteLater()
        if self._returns and not self._quitting:
            self.show_start(ended.controller.session.folder)
            if self.start and ended.controller.file_tasks.abandoned:
                self.start.tell_refusal(ended.controller.file_tasks.abandoned)
        else:
            self.ended.emit()


def _quit_on_signals(program: Application) -> None:
    """Python runs its handlers between bytecodes; the program's pulse is where they come in."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: QTimer.singleShot(0, program.quit))
