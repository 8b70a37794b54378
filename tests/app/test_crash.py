"""Unexpected errors: one dialog with the log, from any thread."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import QThread, QTimer
from PySide6.QtWidgets import QApplication, QMessageBox, QTextEdit
from pytestqt.qtbot import QtBot

from app.crash import CrashReporter


@pytest.fixture
def reporter(qapp: Any, caplog: pytest.LogCaptureFixture) -> Iterator[CrashReporter]:
    caplog.set_level(logging.INFO, "app")
    made = CrashReporter()
    made.log_file = "/somewhere/log.txt"
    hooks = sys.excepthook, threading.excepthook
    made.install()
    yield made
    made.remove()
    assert (sys.excepthook, threading.excepthook) == hooks
    if made.dialog is not None:
        made.dialog.close()


def fail() -> None:
    raise KeyError("left")


class FailingThread(QThread):
    def run(self) -> None:
        fail()


def in_a_slot() -> None:
    QTimer.singleShot(0, fail)


def in_a_thread() -> None:
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()


def in_a_qthread() -> None:
    thread = FailingThread()
    thread.start()
    thread.wait()


def crashed(reporter: CrashReporter, qtbot: QtBot, how: Callable[[], None] = in_a_slot) -> QMessageBox:
    how()
    qtbot.waitUntil(lambda: reporter.dialog is not None)
    return reporter.dialog


@pytest.mark.parametrize("how", [in_a_slot, in_a_thread, in_a_qthread])
def test_an_error_in_any_thread_is_one_sentence_in_a_dialog(
    reporter: CrashReporter, qtbot: QtBot, how: Callable[[], None], picture: Any
) -> None:
    dialog = crashed(reporter, qtbot, how)
    sentence, _, advice = dialog.text().partition("\n\n")
    assert sentence == "Somersault has encountered an unexpected error: KeyError: 'left'."
    assert "All your answers are saved." in advice and "Traceback" not in advice
    picture(dialog, "crash")


def test_without_a_session_the_dialog_speaks_of_none(reporter: CrashReporter, qtbot: QtBot) -> None:
    reporter.log_file = ""
    advice = crashed(reporter, qtbot).text()
    assert "saved behaviours are kept" in advice and "answers" not in advice and "checkpoint" not in advice


def test_the_dialog_shows_and_copies_the_log(reporter: CrashReporter, qtbot: QtBot, picture: Any) -> None:
    logging.getLogger("app.session.controller").info("running, 12 answers")
    dialog = crashed(reporter, qtbot)
    log, buttons = dialog.findChild(QTextEdit), {button.text(): button for button in dialog.buttons()}
    assert not log.isVisible()
    buttons["Show Details..."].click()
    assert log.isVisible()
    text = log.toPlainText()
    for part in ("running, 12 answers", "Traceback (most recent call last)", 'raise KeyError("left")'):
        assert part in text
    assert text.endswith("The whole log is in /somewhere/log.txt.")
    buttons["C&opy"].click()
    assert QApplication.clipboard().text() == f"{dialog.text()}\n\n{text}" and dialog.isVisible()
    picture(dialog, "crash_log")
    with qtbot.waitSignal(reporter.quit_requested):
        buttons["&Quit"].click()
    assert reporter.dialog is None


def test_ctrl_c_is_not_reported_as_a_crash(reporter: CrashReporter, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[object] = []
    reporter.remove()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "excepthook", lambda *args: passed.append(args[0]))
        reporter.install()
        sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
        reporter.remove()
    reporter.install()
    assert passed == [KeyboardInterrupt] and reporter.dialog is None
