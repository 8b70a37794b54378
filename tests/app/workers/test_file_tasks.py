"""A file abandoned with its session is reported on the start page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app import application
from app.command_line import parsed
from app.keys.commands import Command
from app.session.controller import State
from core.config import Config
from core.session.session import Session
from tests.app.fakes import Engine


def endless(session: Session, target: Path, go_on: Callable[[], None]) -> None:
    while True:
        go_on()
        QTest.qSleep(10)


def test_the_start_page_reports_an_abandoned_file(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("app.workers.file_tasks.export_session", endless)
    monkeypatch.setattr(application, "JobProcess", Engine())
    monkeypatch.setattr(application, "sessions_folder", lambda: tmp_path / "sessions")
    monkeypatch.setattr("app.start_page.previews.cache_folder", lambda: tmp_path / "cache")
    opened = application.Application(parsed([]))
    opened.show_start()
    assert opened.start is not None
    opened.start.opened.emit(Session.create(tmp_path / "sessions" / "s", Config(teacher="human")))
    assert opened.open is not None and opened.start is not None
    controller, window = opened.open.controller, opened.open.window
    qtbot.waitUntil(lambda: controller.state == State.RUNNING)
    controller.file_tasks.deadline.setInterval(1)
    controller.file_tasks.export(tmp_path / "mine.somersault")
    with qtbot.waitSignal(window.closed):
        window.commands[Command.START_PAGE].trigger()
    told = "mine.somersault was not saved because the session was closed: save it again."
    qtbot.waitUntil(lambda: opened.start.banner.isVisible())
    assert opened.start.banner.text() == told and told in caplog.text
    opened.close_down()
    opened.start.deleteLater()
    opened.deleteLater()
