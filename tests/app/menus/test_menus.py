"""The menus that write a file, and Help > About."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QMessageBox

from app.keys.commands import Command
from app.session.metrics_recorder import LABELS
from core import version
from core.session.archive import import_session
from core.session.session import Session
from core.types import Choice
from tests.app.fakes import Face, make_query


def choose(face: Face, action: str, target: Path) -> None:
    """Open the menu's dialog and choose this file in it; the window keeps working meanwhile."""
    face.save(action, target)
    face.wait_until(lambda: face.window.banner.isVisible() or face.window.toast.isVisible())


def test_exporting_writes_one_file_with_the_answers_so_far(face: Face, tmp_path: Path) -> None:
    query, following = face.offer(make_query(), make_query())
    face.labelling.answer(Choice.TIE)
    face.wait_until(lambda: len(face.answers()) == 1 and face.query is following)
    choose(face, "export", tmp_path / "shared.somersault")
    assert face.window.toast.text() == f"Saved shared.somersault in {tmp_path}." and not face.window.banner.isVisible()
    place = face.window.clips.geometry()
    face.window.toast.hide()
    QCoreApplication.sendPostedEvents()  # a pending layout would happen here
    QCoreApplication.processEvents()
    assert face.window.clips.geometry() == place
    import_session(tmp_path / "shared.somersault", tmp_path / "back")
    again = Session.open(tmp_path / "back")
    store = again.store()
    assert [(p.query.id, p.choice) for p in store.each()] == [(query.id, Choice.TIE)]
    store.close()
    again.close()


def test_each_letter_of_a_menu_chooses_one_entry(face: Face) -> None:
    bar = face.window.menuBar()
    for menu in (bar, *(action.menu() for action in bar.actions())):
        letters = [re.search("&([^&])", entry.text()) for entry in menu.actions() if not entry.isSeparator()]
        found = [letter[1].lower() for letter in letters if letter]
        assert len(found) == len(set(found)), (found, [entry.text() for entry in menu.actions()])
    assert face.window.pause_action.text() == "&Pause"  # after a renaming as well


def test_diagnostics_are_collected(face: Face, tmp_path: Path) -> None:
    choose(face, "diagnostics", tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert {"config.json", "about.json"} <= set(archive.namelist())


def test_all_plots_with_points_are_saved_at_once(face: Face, tmp_path: Path) -> None:
    choose(face, "save plots", tmp_path / "none.zip")
    assert face.window.banner.text.text() == "There is nothing to save yet: plots appear when episodes have finished."
    metrics = face.controller.metrics
    for steps in range(3):
        metrics.append(LABELS, float(steps), 5.0 * steps)
    face.window.refresh()
    face.window.banner.hide()
    choose(face, "save plots", tmp_path / "plots.zip")
    with zipfile.ZipFile(tmp_path / "plots.zip") as archive:
        assert sorted(archive.namelist()) == ["answers.csv", "answers.png", "answers.svg"]
        assert archive.read("answers.csv").decode().splitlines()[-1] == "2.0,10.0"
        assert archive.read("answers.png").startswith(b"\x89PNG")


@pytest.mark.parametrize("action", ["export", "diagnostics"])
def test_a_file_that_cannot_be_written_is_reported_and_stops_nothing(face: Face, tmp_path: Path, action: str) -> None:
    choose(face, action, tmp_path / "nowhere" / "x")
    assert "can't be written" in face.window.banner.text.text()
    assert not face.window.banner.shows_failure


def test_about_lists_the_versions_of_what_is_installed(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "LIBRARIES", ("torch", "no-such-library"))
    face.window.commands[Command.ABOUT].trigger()
    box = face.window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox) and version.VERSION in box.text()
    assert "torch 2." in box.text() and "no-such-library (not installed)" in box.text()
    box.close()
