"""Exceptions in the workers other than the jobs', at every event that their children may send."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.previews.previews import Previews
from app.session.controller import State
from app.windows.play import Playing
from core.config import Config
from core.events import Event
from core.service_events import FilmMade
from tests.app.fakes import Engine, Face
from tests.app.start_page_driver import Drawers
from tests.app.yielded import FILM, PLAY, PREVIEWS


def names(event: Event) -> str:
    return type(event).__name__


@pytest.mark.slow_after_first
@pytest.mark.parametrize("event", FILM, ids=names)
def test_a_film_whose_worker_fails_is_reported_and_another_can_be_made(
    face: Face, tmp_path: Path, event: Event
) -> None:
    films = face.controller.film_export
    films.make(tmp_path / "x.mp4")
    face.engine["film"].unreadable = event
    (tmp_path / "x.mp4.part").write_bytes(b"half")
    with face.wait_signal(films.failed) as ended:
        face.engine["film"].play(event)
    assert ended.args == ["x.mp4 could not be written: RuntimeError: as injected."]
    assert face.engine["film"].stopped and not (tmp_path / "x.mp4.part").exists()
    assert face.controller.state == State.RUNNING and not face.window.banner.shows_failure
    films.make(tmp_path / "again.mp4")
    with face.wait_signal(films.made) as ended:
        face.engine["film"].play(FilmMade(str(tmp_path / "again.mp4"), ""))
    assert ended.args == [f"Saved again.mp4 in {tmp_path}."]


@pytest.fixture
def drawn(tmp_path: Path) -> Iterator[tuple[Previews, Drawers]]:
    drawers = Drawers(ignored=("a",))
    previews = Previews(drawers, tmp_path / "cache")
    yield previews, drawers
    previews.close()


@pytest.mark.parametrize("event", PREVIEWS, ids=names)
def test_a_picture_whose_worker_fails_is_refused_and_the_next_is_drawn(
    drawn: tuple[Previews, Drawers],
    qtbot: QtBot,
    caplog: pytest.LogCaptureFixture,
    event: Event,
) -> None:
    previews, drawers = drawn
    previews.request("a")
    qtbot.waitUntil(lambda: drawers.asked == ["a"])
    drawers.made[0].unreadable = event
    with qtbot.waitSignal(previews.preview_refused) as refused:
        drawers.made[0].play(event)
    assert refused.args[0] == "a" and "can't be rendered" in refused.args[1] and "as injected" in caplog.text
    with qtbot.waitSignal(previews.preview_ready) as ready:
        previews.request("b")
    assert ready.args[0] == "b" and drawers.made[0].stopped


@pytest.mark.parametrize("event", PLAY, ids=names)
def test_a_game_whose_worker_fails_is_reported_and_can_be_played_again(qtbot: QtBot, event: Event) -> None:
    engine = Engine()
    playing = Playing(Config(task="breakout"), engine, "mine")
    playing.open()
    window = playing.window
    engine["play"].unreadable = event
    engine["play"].play(event)
    qtbot.waitUntil(lambda: window.message.text() == "The game ended: RuntimeError: as injected.")
    qtbot.waitUntil(lambda: engine["play"].stopped)
    QTest.keyClick(window, Qt.Key.Key_Escape)
    playing.open()
    again = playing.window
    assert again is not None and len(engine.made) == 2
    engine["play"].play(event)
    qtbot.waitUntil(lambda: "Score 7" in again.score.text())
    playing.close()
