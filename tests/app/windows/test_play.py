"""Playing the game before labelling: real keys, a real window, and in one test a real game."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.windows.play import Playing, PlayWindow
from core.config import Config
from core.events import JobSpec
from core.jobs.job_process import JobProcess
from core.service_events import ControlsHeld, GameShown
from core.types import Choice
from tests.app.fakes import Engine, Face, FakeProcess, Picture, make_query


def shown(score: int = 0, lives: int = 3) -> GameShown:
    pixels = np.zeros((210, 160, 3), np.uint8)
    pixels[40:60, 20:140] = (200, 72, 72)
    return GameShown(pixels, score, lives)


@pytest.fixture
def playing(engine: Engine) -> Iterator[Playing]:
    made = Playing(Config(task="breakout"), engine, "mine")
    made.open()
    yield made
    made.close()


@pytest.fixture
def window(playing: Playing, qtbot: QtBot) -> PlayWindow:
    opened = playing.window
    qtbot.waitUntil(opened.isActiveWindow)
    return opened


def controls(process: FakeProcess) -> list[ControlsHeld]:
    return process.got(ControlsHeld)


def test_the_game_window_fits_the_screen_with_its_title_bar(window: PlayWindow) -> None:
    assert window.height() <= window.screen().availableGeometry().height() - 40


def test_held_keys_move_the_joystick(window: PlayWindow, engine: Engine) -> None:
    QTest.keyPress(window, Qt.Key.Key_Left)
    QTest.keyPress(window, Qt.Key.Key_Space)
    QTest.keyRelease(window, Qt.Key.Key_Left)
    QTest.keyRelease(window, Qt.Key.Key_Space)
    assert controls(engine["play"]) == [
        ControlsHeld(left=True),
        ControlsHeld(left=True, fire=True),
        ControlsHeld(fire=True),
        ControlsHeld(),
    ]


def test_a_game_without_a_child_is_reported_and_can_be_tried_again(engine: Engine, qtbot: QtBot) -> None:
    left = iter((OSError(errno.EMFILE, "Too many open files"), None))

    def make(spec: JobSpec) -> FakeProcess:
        if error := next(left):
            raise error
        return engine(spec)

    playing = Playing(Config(task="breakout"), make, "mine")
    playing.open()
    assert playing.window is not None and "Too many open files" in playing.window.message.text()
    playing.open()
    qtbot.waitUntil(lambda: bool(engine.made) and engine["play"].started)
    playing.close()


def test_a_held_key_is_released_when_the_window_loses_the_focus(
    window: PlayWindow, engine: Engine, qtbot: QtBot
) -> None:
    QTest.keyPress(window, Qt.Key.Key_Right)
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(lambda: controls(engine["play"])[-1:] == [ControlsHeld()])


def test_the_score_of_a_persons_own_game_is_shown(
    window: PlayWindow, engine: Engine, qtbot: QtBot, picture: Picture
) -> None:
    engine["play"].play(shown(42, 2))
    qtbot.waitUntil(lambda: "Score 42" in window.score.text())
    assert "Lives 2" in window.score.text()
    hints = window.message.text().split(6 * " ")
    assert [hint.replace("\N{NO-BREAK SPACE}", " ") for hint in hints] == [
        *("← → move the paddle", "Space serves the ball", "Esc leaves")
    ]
    assert not any(" " in hint for hint in hints)  # hints contain no line breaks
    image = window.screen_.grab().toImage()
    ratio = image.height() / window.screen_.height()
    assert image.pixelColor(image.width() // 2, round(50 / 210 * window.screen_.height() * ratio)).red() == 200
    picture(window, "play")


def test_esc_ends_the_game_and_its_process(playing: Playing, engine: Engine, qtbot: QtBot) -> None:
    window = playing.window
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert playing.window is None
    qtbot.waitUntil(lambda: engine["play"].stopped)


def test_a_game_that_dies_is_reported(
    window: PlayWindow, engine: Engine, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("CRITICAL"):
        engine["play"].die()
        qtbot.waitUntil(lambda: "unexpectedly" in window.message.text())


def test_playing_is_offered_beside_the_instruction_of_a_game(open_face: Callable[..., Face]) -> None:
    face = open_face(task="breakout")
    assert face.window.play_button.isVisible() and "five minutes" in face.window.play_button.toolTip()
    assert face.window.play_advice.isVisible() and "five minutes" in face.window.play_advice.text()
    QTest.mouseClick(face.window.play_button, Qt.MouseButton.LeftButton)
    opened = face.window.playing.window
    assert opened is not None and opened.isVisible()


def test_keys_of_the_game_answer_no_pair_and_nothing_is_stored(open_face: Callable[..., Face]) -> None:
    face = open_face(task="breakout")
    face.offer(make_query())
    face.press(Qt.Key.Key_F5)
    opened = face.window.playing.window
    face.wait_until(opened.isActiveWindow)
    before = sorted(face.folder.rglob("*"))
    QTest.keyClick(opened, Qt.Key.Key_Left)
    QTest.keyClick(opened, Qt.Key.Key_Escape)
    assert face.answers() == [] and sorted(face.folder.rglob("*")) == before
    face.activate()
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: [answer.choice for answer in face.answers()] == [Choice.LEFT])


def test_a_real_game_is_played_with_real_keys(qtbot: QtBot) -> None:
    """The red paddle of Breakout moves in the direction of the arrow."""
    playing = Playing(Config(task="breakout"), JobProcess, "mine")
    playing.open()
    window = playing.window
    try:
        qtbot.waitUntil(lambda: window.pixels is not None, timeout=60_000)
        qtbot.waitUntil(window.isActiveWindow)
        QTest.keyPress(window, Qt.Key.Key_Left)
        qtbot.waitUntil(lambda: paddle(window) < 20, timeout=30_000)
        QTest.keyRelease(window, Qt.Key.Key_Left)
        QTest.keyPress(window, Qt.Key.Key_Right)
        qtbot.waitUntil(lambda: paddle(window) > 120, timeout=30_000)
        QTest.keyRelease(window, Qt.Key.Key_Right)
    finally:
        playing.close()


def paddle(window: PlayWindow) -> float:
    """Return the middle of the paddle in pixels from the left."""
    red = (window.pixels[190:193, 8:152] == (200, 72, 72)).all(axis=(0, 2))
    return float(np.flatnonzero(red).mean() + 8) if red.any() else np.nan
