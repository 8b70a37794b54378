"""The program with a window: from the command line to the exit code."""

from __future__ import annotations

import argparse
import signal
import sys

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app import theme
from app.controller import Controller
from app.crash import CrashReporter
from app.opening import opened, parsed
from app.teachers import kept_teacher
from app.windows.main import MainWindow
from core.journal import NAME, session_log, warnings_to_stderr
from core.processes import JobProcess
from core.session import Session


def run(arguments: list[str]) -> int:
    """Opens the window and blocks until it is closed. UserError where there is no window to tell it in yet."""
    warnings_to_stderr("%(levelname)s %(name)s: %(message)s")
    options = parsed(arguments)
    session = opened(options)
    with session_log(session.folder):
        return _run(session, options)


def _run(session: Session, options: argparse.Namespace) -> int:
    app = QApplication(sys.argv[:1])
    app.setApplicationName("Somersault")
    app.setQuitOnLastWindowClosed(False)  # the children end first; the window says when
    theme.apply(app)
    crash = CrashReporter(str(session.folder / NAME), app)
    crash.install()
    controller = Controller(session, JobProcess)
    controller.labelling.set_teacher(options.teacher or kept_teacher(session))
    window = MainWindow(controller)
    window.closed.connect(app.quit)
    crash.quit_requested.connect(window.close)
    _close_on_signals(window)
    if options.quit_after is not None:
        QTimer.singleShot(round(1000 * max(0.0, options.quit_after)), window.close)
    window.show()
    controller.start()
    return app.exec()


def _close_on_signals(window: MainWindow) -> None:
    """Python runs its handlers between bytecodes; the window's timer, four times a second, is where they come in."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: QTimer.singleShot(0, window.close))
