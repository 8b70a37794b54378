"""Windows over a fake engine, all closed at the end; no thread or child process may be left behind."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.style import theme
from app.style.theme import Appearance
from core.config import Config, replaced
from core.session.session import Session
from tests.app.fakes import Engine, Face
from tests.app.history_page_driver import MIXED, Given, fill
from tests.app.start_page_driver import Page
from tests.processes import parts

_MUCH_GARBAGE = 100_000
"""Objects made since the last collection that make one worth its time."""
_PATIENCE_MS = 30_000
"""A wait ends with what it waits for, so only a failing test takes so long."""


@pytest.fixture(autouse=True)
def style(qapp: Any, own_settings: None) -> None:
    """Apply the style of a fresh installation, whatever the previous test has chosen."""
    if qapp.styleSheet():
        theme.choose(Appearance.SYSTEM)
    else:
        theme.apply(qapp)


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests and the processes that they start from reading or changing the user's own settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # contains the trash, if a test creates one
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, str(tmp_path / "settings"))


@pytest.fixture
def qtbot(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> QtBot:
    """pytest-qt's qtbot with a longer timeout: its five seconds are too few on a busy machine."""
    for name in ("waitUntil", "waitSignal"):
        monkeypatch.setattr(qtbot, name, partial(getattr(qtbot, name), timeout=_PATIENCE_MS))
    return qtbot


@pytest.fixture
def picture() -> Callable[[QWidget, str], None]:
    """Save a picture of a page for inspection, as NAME.png in build/pictures or the folder in SOMERSAULT_PICTURES."""
    folder = Path(os.environ.get("SOMERSAULT_PICTURES", "build/pictures"))

    def take(widget: QWidget, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        assert widget.grab().save(str(folder / f"{name}.png"))

    return take


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread or child process behind, and delete its windows as an event loop would."""
    threads = set(threading.enumerate())
    known = set(parts(recursive=True))
    gc.disable()  # as in the program, only this thread deletes widgets
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    if gc.get_count()[0] > _MUCH_GARBAGE:
        gc.collect()
    gc.enable()
    deadline = time.monotonic() + _PATIENCE_MS / 1000
    while (left := _left(threads, known)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left


def _left(threads: set[threading.Thread], known: set[psutil.Process]) -> list[object]:
    left = [part for part in parts(recursive=True) if part not in known]
    alive = [t for t in threading.enumerate() if t not in threads and not t.name.startswith("Dummy-")]
    return [*alive, *left]


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def open_face(qtbot: QtBot, tmp_path: Path) -> Iterator[Callable[..., Face]]:
    """Open windows over a session, which is created the first time and opened again later. All are closed at the end."""
    faces: list[Face] = []

    def make(folder: Path = tmp_path / "session", **changes: Any) -> Face:
        if (folder / "config.json").exists():
            session = Session.open(folder)
        else:
            session = Session.create(folder, replaced(Config(), **{"teacher": "human", **changes}))
        faces.append(Face(qtbot, folder, session))
        faces[-1].open()
        return faces[-1]

    yield make
    for face in faces:
        face.close()
        face.window.deleteLater()
        face.controller.deleteLater()


@pytest.fixture
def face(open_face: Callable[..., Face]) -> Face:
    return open_face()


@pytest.fixture
def make_page(qtbot: QtBot, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Make start windows over one folder of sessions, all closed at the end. Arguments: attributes of the drawers."""
    pages: list[Page] = []

    def made(**attributes: object) -> Page:
        pages.append(Page(qtbot, tmp_path, **attributes))
        return pages[-1]

    yield made
    for page in pages:
        page.close()


@pytest.fixture
def page(make_page: Callable[..., Page]) -> Page:
    return make_page()


@pytest.fixture
def opened(open_face: Callable[..., Face], tmp_path: Path) -> Callable[..., Face]:
    """Open a window over a session that already has these answers."""

    def make(given: Given, **changes: object) -> Face:
        folder = tmp_path / "session"
        session = Session.create(folder, replaced(Config(), **{"teacher": "human", **changes}))
        with closing(session.store()) as store:
            fill(store, given)
        session.close()
        face = open_face(folder)
        face.wait_until(lambda: face.controller.progress.labels == len(given))
        return face

    return make


@pytest.fixture
def mixed(opened: Callable[..., Face]) -> Face:
    """A window over a session with answers of each kind, by a person and by the oracle: MIXED."""
    return opened(MIXED)
