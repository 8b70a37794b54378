"""The menus that write a file."""

from __future__ import annotations

import threading
import zipfile
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app import controller
from app.controller import State
from core.archive import export_session, import_session
from core.records import Choice
from core.session import Session
from tests.app.fakes import Face, make_query


def choose(face: Face, qtbot: QtBot, action: str, target: Path) -> None:
    """Opens the menu's dialog and takes this file in it; the window keeps working meanwhile."""
    found = face.window.findChild(QAction, action)
    assert isinstance(found, QAction)
    found.trigger()
    dialog = face.window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.fileSelected.emit(str(target))
    dialog.close()
    qtbot.waitUntil(lambda: face.window.banner.isVisible())


def test_the_session_goes_into_one_file_with_the_answers_given_so_far(face: Face, qtbot: QtBot, tmp_path: Path) -> None:
    query = make_query()
    face.offer(query, make_query())
    face.labelling.answer(Choice.TIE)
    qtbot.waitUntil(lambda: len(face.answers()) == 1)
    choose(face, qtbot, "export", tmp_path / "shared.somersault")
    assert "shared.somersault is written" in face.window.banner.text.text()
    import_session(tmp_path / "shared.somersault", tmp_path / "back")
    again = Session.open(tmp_path / "back")
    store = again.store()
    assert [(p.query.id, p.choice) for p in store.all()] == [(query.id, Choice.TIE)]
    store.close()
    again.close()


def test_diagnostics_are_collected(face: Face, qtbot: QtBot, tmp_path: Path) -> None:
    choose(face, qtbot, "diagnostics", tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert {"config.json", "about.json"} <= set(archive.namelist())


@pytest.mark.parametrize("action", ["export", "diagnostics"])
def test_a_file_that_cannot_be_written_is_told_of_and_stops_nothing(
    face: Face, qtbot: QtBot, tmp_path: Path, action: str
) -> None:
    choose(face, qtbot, action, tmp_path / "nowhere" / "x")
    assert "can't be written" in face.window.banner.text.text()
    assert not face.window.banner.shows_failure


def test_a_long_export_holds_up_no_checkpoint_and_closing_waits_for_it_without_freezing(
    face: Face, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, released = threading.Event(), threading.Event()

    def slow(session: Session, target: Path) -> None:
        started.set()
        assert released.wait(5)
        export_session(session, target)

    monkeypatch.setattr(controller, "export_session", slow)
    face.controller.export(tmp_path / "shared.somersault")
    qtbot.waitUntil(started.is_set)
    with qtbot.waitSignal(face.controller.checkpoints.saved):
        face.controller.checkpoints.request()
    with qtbot.waitSignal(face.controller.crew.dismissed):
        face.window.close()
    face.window.refresh()
    assert face.window.isVisible() and face.controller.state == State.STOPPING
    assert face.window.empty.detail.text() == "A file that you asked for is being written."
    with qtbot.waitSignal(face.window.closed):
        released.set()
    assert (tmp_path / "shared.somersault").is_file()


def test_closing_a_stopped_session_waits_for_its_export_too(
    face: Face, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with qtbot.waitSignal(face.controller.stopped):
        face.window.stop_action.trigger()
    released = threading.Event()
    monkeypatch.setattr(controller, "export_session", lambda *_: released.wait(5))
    face.controller.export(tmp_path / "shared.somersault")
    face.window.close()
    assert face.window.isVisible() and face.controller.state == State.STOPPING
    with qtbot.waitSignal(face.window.closed):
        released.set()
