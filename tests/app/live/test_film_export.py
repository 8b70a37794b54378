"""Films: requested in the menu, made by a child process of their own, and cancelled without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox

from app.keys.commands import Command
from core.events import Failed
from core.service_events import FILM_HEIGHT, FilmMade, FilmProgressed, FilmRequested
from tests.app.fakes import Face


def choose(face: Face, action: str, target: Path) -> None:
    face.save(action, target)
    face.wait_until(lambda: bool(face.engine["film"].got(FilmRequested)))


def test_the_film_for_a_talk_is_made_by_its_own_job(face: Face, tmp_path: Path) -> None:
    face.save("film for a talk", tmp_path / "talk.mp4")
    face.wait_until(lambda: any(made.spec.name == "talk" for made in face.engine.made))
    (request,) = face.engine["talk"].got(FilmRequested)
    assert request.height == 1080 and request.target == str(tmp_path / "talk.mp4")


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("action", "before_after"), [("film", False), ("before and after", True)])
def test_the_menu_requests_a_film_from_a_child_and_shows_its_progress(
    face: Face, tmp_path: Path, action: str, before_after: bool
) -> None:
    target = tmp_path / "flip.mp4"
    choose(face, action, target)
    child = face.engine["film"]
    assert child.got(FilmRequested) == [FilmRequested(str(face.folder), str(target), before_after, FILM_HEIGHT)]
    line = face.window.training_line.text  # one pixel lower when empty
    face.wait_until(lambda: bool(line.text()) and line.height() == line.sizeHint().height())
    place = face.window.pair_page.geometry()
    child.play(FilmProgressed(0.37))
    face.wait_until(lambda: face.window.film_bar.bar.value() == 37)
    assert face.window.film_bar.isVisible() and face.window.pair_page.geometry() == place
    child.play(FilmMade(str(target), "One earlier policy is damaged."))
    saved = f"Saved flip.mp4 in {tmp_path}. One earlier policy is damaged."
    face.wait_until(lambda: face.window.toast.text() == saved)
    assert child.stopped and not face.window.film_bar.isVisible()


def test_a_cancelled_film_leaves_no_partial_file(face: Face, tmp_path: Path) -> None:
    for name in ("flip.mp4", "again.mp4"):
        choose(face, "film", tmp_path / name)
        half = (tmp_path / name).with_suffix(".mp4.part")
        half.write_bytes(b"half")
        if name == "flip.mp4":
            QTest.mouseClick(face.window.film_bar.cancel, Qt.MouseButton.LeftButton)
            face.wait_until(lambda: "Cancelled" in face.window.banner.text.text())
            assert not half.exists() and not face.window.film_bar.isVisible()
    face.close()
    assert face.engine["film"].stopped and not half.exists()
    assert face.controller.abandoned == "again.mp4 was not saved because the session was closed: export it again."


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (
            Failed("film", "There are no policies kept yet: teach for a minute first.", "traceback"),
            "teach for a minute",
        ),
        (None, "ended unexpectedly"),
    ],
)
def test_a_failed_film_is_one_sentence_and_labelling_continues(
    face: Face, tmp_path: Path, failure: Failed | None, sentence: str
) -> None:
    choose(face, "film", tmp_path / "flip.mp4")
    face.answer_another()
    assert face.window.film_bar.isVisible()
    face.engine["film"].play(failure) if failure else face.engine["film"].die()
    face.wait_until(lambda: sentence in face.window.banner.text.text())
    assert not face.window.banner.shows_failure and not face.window.film_bar.isVisible()


def test_a_finished_film_is_not_reported_as_unfinished_while_its_child_ends(
    face: Face, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(face, "film", tmp_path / "flip.mp4")
    monkeypatch.setattr(face.engine["film"], "stop", lambda: None)
    face.engine["film"].play(FilmMade(str(tmp_path / "flip.mp4"), ""))
    face.wait_until(lambda: face.controller.unfinished_files == [])
    face.close()
    assert face.controller.abandoned == ""


@pytest.mark.slow_after_first
@pytest.mark.parametrize("waits", [True, False])
def test_quitting_asks_about_a_film_in_progress(face: Face, tmp_path: Path, waits: bool) -> None:
    choose(face, "film", tmp_path / "flip.mp4")
    face.window.commands[Command.QUIT].trigger()
    box = face.window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox) and "flip.mp4" in box.text() and face.window.isVisible()
    if waits:
        QTest.keyClick(box, Qt.Key.Key_Return)  # the default
        face.engine["film"].play(FilmMade(str(tmp_path / "flip.mp4"), ""))
        face.wait_until(lambda: face.window.toast.text().startswith("Saved flip.mp4"))
    else:
        (leave,) = [button for button in box.buttons() if "anyway" in button.text()]
        with face.wait_signal(face.window.closed):
            QTest.mouseClick(leave, Qt.MouseButton.LeftButton)


def test_only_one_film_is_made_at_a_time(face: Face, tmp_path: Path) -> None:
    choose(face, "film", tmp_path / "flip.mp4")
    face.controller.film_export.make(tmp_path / "other.mp4")
    face.wait_until(
        lambda: face.window.banner.text.text() == "flip.mp4 is still being written. Wait until it is finished."
    )
    assert face.window.film_bar.isVisible()
