"""The application with a window: from the command line to the exit code."""

import argparse
import logging
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication, QWidget

from app.behaviours.library import BehaviourLibrary
from app.behaviours.scenes import Scenes
from app.command_line import given, parsed
from app.crash import CrashReporter
from app.display_check import open_display
from app.previews.previews import Previews
from app.session.controller import Controller
from app.session.factory import behaviours_folder, last_teacher, new_config, open_or_create, sessions_folder
from app.session.library import SessionLibrary, keep_listed
from app.session.summary_writer import SummaryWriter
from app.style import theme
from app.windows.main import MainWindow
from app.windows.start import StartWindow
from app.workers.garbage import collected_here
from core.errors import UserError
from core.io.session_log import NAME, session_log, warnings_to_stderr
from core.jobs.job_process import JobProcess
from core.session.session import Session
from core.system.child_process import preload
from core.system.interrupts import STOPPING

log = logging.getLogger(__name__)
_PULSE_MS = 250
"""Interval at which Python can run signal handlers while the window is idle."""
_PRELOAD_MS = 1000
"""Time after which the window is likely to stay open, and a session to be started."""
_LOG_OUT_MS = 3000
"""Longest time that a log-out waits for the last checkpoint."""


def run(arguments: list[str], started: Callable[["Application"], object] = lambda _: None) -> int:
    """Open a window, block until all windows are closed, and return the exit code.

    started: called with the application when its first window is open
    Raises UserError if something is wrong before there is a window to show it in.
    """
    warnings_to_stderr("%(levelname)s %(name)s: %(message)s")
    options = parsed(arguments)
    session = None
    if options.task is not None or options.session is not None:
        session = open_or_create(options)
    else:
        new_config(options)  # report bad numbers now, not first in the form
    qt = open_display()
    qt.setApplicationName("Somersault")
    qt.setQuitOnLastWindowClosed(False)  # the children end first; `ended` follows
    theme.apply(qt)
    application = Application(options)
    application.crash_reporter.install()
    application.ended.connect(qt.quit)
    qt.commitDataRequest.connect(application.save)
    for number in STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: QTimer.singleShot(0, application.quit))
    if options.quit_after is not None:
        QTimer.singleShot(round(1000 * max(0.0, options.quit_after)), application.quit)
    with collected_here():
        application.begin(session)
        QTimer.singleShot(_PRELOAD_MS, application, application.preload)
        started(application)
        code = qt.exec()
        application.close_down()
    return code


@dataclass(frozen=True)
class _OpenSession:
    """Parts of the open session, to be closed together."""

    controller: Controller
    window: MainWindow
    stack: ExitStack


class Application(QObject):
    """Switches between the start window and a session.

    Closing a session returns to the start window if that was shown or requested before; else it ends the application.

    open: parts of the open session; None on the start window

    Signals:
        ended(): no window is left.
    """

    ended = Signal()

    def __init__(self, options: argparse.Namespace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._options = options
        self.start: StartWindow | None = None
        self.open: _OpenSession | None = None
        self._returns_to_start, self._starts_over, self._quitting = False, False, False
        self.crash_reporter = CrashReporter(parent=QApplication.instance())
        self.crash_reporter.quit_requested.connect(self.quit)
        self._pulse = QTimer(self, interval=_PULSE_MS)
        self._pulse.timeout.connect(lambda: None)
        self._pulse.start()

    def begin(self, session: Session | None) -> None:
        if session is None:
            self.show_start()
        else:
            keep_listed(session.folder, sessions_folder())
            self._show_session(session, self._options.teacher)

    def show_start(self, last: Path | None = None) -> None:
        """Show the start window. last: folder of the session that was just closed, which is selected in the list"""
        self._returns_to_start = True  # from now on, closing a session returns here
        if self.start is None:
            self.start = StartWindow(
                SessionLibrary(sessions_folder()),
                Previews(JobProcess),
                BehaviourLibrary(behaviours_folder()),
                Scenes(JobProcess),
                given(self._options),
            )
            self.start.opened.connect(self._on_opened)
            self.start.closed.connect(self.quit)
        if last:
            self.start.sessions.next_selection = last
        _show_in_front(self.start)

    def preload(self) -> None:
        """Prepare for the first session: its child processes then start sooner."""
        threading.Thread(target=preload, daemon=True).start()

    def quit(self) -> None:
        """Close the open session; `ended` follows."""
        self._quitting = True
        if self.open:
            self.open.window.close()
        else:
            self.ended.emit()

    def save(self) -> None:
        """Save the open session. The desktop requests this before a log-out, and may kill the process afterwards."""
        if self.open:
            self.open.controller.checkpointer.save_now(_LOG_OUT_MS)

    def close_down(self) -> None:
        """End the threads of the start window. Call it after `ended`."""
        if self.start:
            self.start.hide()
            self.start.close_down()

    def _on_opened(self, session: Session) -> None:
        assert self.start is not None
        if self._quitting or self.open is not None:
            session.close()
            return
        try:
            self._show_session(session)
        except UserError as error:
            session.close()
            self.start.show_failure(str(error))
            return
        self.start.hide()

    def _show_session(self, session: Session, teacher: str | None = None) -> None:
        controller = Controller(session, JobProcess)
        stack = ExitStack()
        stack.enter_context(session_log(session.folder))
        window = MainWindow(controller)
        teacher = teacher or last_teacher(session.folder, session.config)
        controller.labelling.set_teacher(teacher)  # the window says why if it can't be
        window.closed.connect(self._on_closed)
        window.start_page_requested.connect(self._on_start_page_requested)
        window.start_over_requested.connect(self._on_start_over_requested)
        window.quit_requested.connect(self._on_quit_requested)
        self.crash_reporter.log_file = str(session.folder / NAME)
        SummaryWriter(controller)
        self.open = _OpenSession(controller, window, stack)
        _show_in_front(window)
        controller.start()

    def _on_quit_requested(self) -> None:
        """Quit after the session, unless the start page has unsaved changes: then return to it and warn."""
        if self.start is None or not self.start.keeps_open():
            self.quit()

    def _on_start_page_requested(self) -> None:
        self._returns_to_start = True

    def _on_start_over_requested(self) -> None:
        self._returns_to_start = self._starts_over = True

    def _on_closed(self) -> None:
        assert self.open is not None
        closed, self.open = self.open, None
        self.crash_reporter.log_file = ""
        closed.stack.close()
        for part in (closed.window, closed.controller):
            part.deleteLater()
        if self._returns_to_start and not self._quitting:
            folder, starts_over = closed.controller.session.folder, self._starts_over
            self._starts_over = False
            self.show_start(folder)
            if self.start and closed.controller.abandoned:
                self.start.show_failure(closed.controller.abandoned)
            elif self.start and starts_over:
                self.start.start_over(folder)
        else:
            self.ended.emit()


def _show_in_front(window: QWidget) -> None:
    """Show a window that the person has asked for and give it the keyboard, which not every window manager does."""
    window.show()
    window.activateWindow()
