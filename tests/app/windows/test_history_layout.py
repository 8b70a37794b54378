"""The answer history at the smallest and the largest size it is meant for: nothing is cut off."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from core.types import Choice
from tests.app.clipping import clipped
from tests.app.fakes import Face
from tests.app.history.test_disagreements import look, say
from tests.app.history_page_driver import MIXED, page_of, playing, vandalise

ROOT = Path(__file__).resolve().parents[3]
SMALL = QSize(1280, 720)


@pytest.mark.parametrize("state", ["list", "empty", "doubted", "no-predictor", "unreadable"])
def test_nothing_is_cut_off_on_a_small_screen(
    opened: Callable[..., Face],
    qtbot: QtBot,
    picture: Any,
    state: str,
) -> None:
    face = opened([] if state == "empty" else MIXED)
    if state == "unreadable":
        vandalise(face, "UPDATE segments SET arrays = x'00'")
    page = page_of(face)
    page.resize(SMALL)
    if state in ("doubted", "no-predictor"):
        look(page)
        say(face, 1234 if state == "doubted" else 0, {1: 0.01, 6: 0.99} if state == "doubted" else {})
        qtbot.waitUntil(lambda: page.empty.headline.text() != "Comparing your answers with the reward model")
    elif state == "list":
        qtbot.waitUntil(lambda: playing(page, 6))
    qtbot.waitUntil(lambda: clipped(page) == [])
    assert page.size() == SMALL
    picture(page, f"history-small-{state}")


def test_the_page_fits_its_screen_and_the_keyboard_reaches_all_of_it(opened: Callable[..., Face]) -> None:
    page = page_of(opened(MIXED))
    room = page.screen().availableSize()
    assert page.width() <= room.width() and page.height() <= room.height()
    reached = set()
    for _ in range(20):
        reached.add(page.focusWidget())
        QTest.keyClick(page, Qt.Key.Key_Tab)
    assert {page.list, page.pane, page.filter.tabs, page.filter.choice, page.filter.labeller} <= reached
    assert {page.filter.changed_only, page.filter.withdrawn_too} <= reached
    names = [widget.accessibleName() for widget in (page.list, page.pane, page.filter.choice, page.filter.labeller)]
    assert all(names) and all(page.pane.choices[choice].accessibleName() for choice in Choice)


_AT_SCALE_2 = """
import pathlib, sys, tempfile
from contextlib import closing
from PySide6.QtCore import QSettings
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
sys.path.insert(0, '.')
place = tempfile.mkdtemp()
QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, place)
from app import theme
from app.controller import Controller
from app.keys import Command
from app.windows.main import MainWindow
from core.config import Config, replaced
from core.session import Session
from tests.app.clipping import clipped
from tests.app.fakes import Engine
from tests.app.history_page_driver import MIXED, kept

application = QApplication([])
theme.apply(application)
session = Session.create(pathlib.Path(place) / 's', replaced(Config(), teacher='human'))
with closing(session.store()) as store:
    store.restore([kept(number, *answer) for number, answer in enumerate(MIXED, 1)])
controller = Controller(session, Engine())
window = MainWindow(controller)
application.setQuitOnLastWindowClosed(False)
window.closed.connect(application.quit)
window.show()
controller.start()
window.commands[Command.HISTORY].trigger()
page = window.history_commands.page
page.resize(1920, 1080)
def look(*_):
    QTest.qWait(200)
    print(clipped(page))
    picture = page.grab()
    print(picture.width(), picture.height(), picture.devicePixelRatio())
    picture.save(sys.argv[1])
    window.close()
controller.preference_history.clip_cache.pair_drawn.connect(look)
application.exec()
"""


def test_nothing_is_cut_off_at_twice_the_scale() -> None:
    folder = Path(os.environ.get("SOMERSAULT_PICTURES", "build/pictures")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": "2"}
    command = [sys.executable, "-c", _AT_SCALE_2, str(folder / "history-large.png")]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == ["[]", "3840 2160 2.0"], done.stderr
