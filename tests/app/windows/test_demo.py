"""Demo mode: the same session full screen, for guests or played by the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.live.demonstrations import Demonstration
from app.session.controller import State
from app.style import theme
from app.windows.demo import DemoWindow
from core.events import Waited
from core.types import Choice, Frames, Teacher
from tests.app.fakes import Face, make_query
from tests.app.windows.test_main import report

Take = Callable[[QWidget, str], None]


@pytest.fixture(autouse=True)
def usual_scheme() -> Iterator[None]:
    yield
    theme.choose(theme.Appearance.SYSTEM)


@pytest.fixture
def demo(face: Face, qtbot: QtBot) -> Iterator[DemoWindow]:
    yield opened(face, qtbot)
    face.window.demo_commands.leave_demo()


def opened(face: Face, qtbot: QtBot, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> DemoWindow:
    face.window.activateWindow()
    qtbot.waitUntil(face.window.isActiveWindow)
    face.press(Qt.Key.Key_F11, modifier)
    shown = face.window.demo_commands.demo
    assert shown is not None
    shown.activateWindow()
    qtbot.waitUntil(shown.isActiveWindow)
    return shown


@pytest.mark.parametrize("key", [Qt.Key.Key_F11, Qt.Key.Key_Escape])
def test_f11_opens_it_full_screen_and_f11_or_esc_goes_back(face: Face, qtbot: QtBot, key: Qt.Key) -> None:
    demo = opened(face, qtbot)
    assert demo.isFullScreen() and demo.isVisible()
    QTest.keyClick(demo, key)
    qtbot.waitUntil(lambda: face.window.demo_commands.demo is None)
    assert face.window.isVisible() and face.controller.state == State.RUNNING
    again = opened(face, qtbot)
    assert again is not demo
    qtbot.waitUntil(lambda: not isValid(demo))  # or each that was ever opened would go on playing unseen
    again.close()


@pytest.mark.parametrize(
    ("key", "choice"),
    [
        (Qt.Key.Key_Left, Choice.LEFT),
        (Qt.Key.Key_Right, Choice.RIGHT),
        (Qt.Key.Key_Up, Choice.TIE),
        (Qt.Key.Key_Down, Choice.CANT_TELL),
    ],
)
def test_guests_answer_with_four_keys(face: Face, demo: DemoWindow, qtbot: QtBot, key: Qt.Key, choice: Choice) -> None:
    first, second = make_query(), make_query()
    face.offer(first, second)
    assert demo.clips.shown and demo.clips.shown.query is first
    QTest.keyClick(demo, key)
    qtbot.waitUntil(lambda: demo.clips.shown is not None and demo.clips.shown.query is second)
    assert [(p.query.id, p.choice, p.labeller) for p in face.answers()] == [(first.id, choice, "human")]
    assert [c for c, tile in demo.tiles.items() if tile.chosen] == [choice]
    assert demo.clips.flashed == choice
    qtbot.waitUntil(lambda: not any(tile.chosen for tile in demo.tiles.values()))


def test_a_guest_may_click_and_an_answer_can_be_taken_back(face: Face, demo: DemoWindow, qtbot: QtBot) -> None:
    face.offer(make_query(), make_query())
    demo.clips._flash_end.setInterval(60_000)
    demo.flash_timer.setInterval(60_000)
    QTest.mouseClick(demo.tiles[Choice.TIE], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: demo.tiles[Choice.TIE].chosen)
    assert demo.clips.flashed == Choice.TIE and len(face.answers()) == 1
    QTest.keyClick(demo, Qt.Key.Key_Backspace)
    qtbot.waitUntil(lambda: not demo.tiles[Choice.TIE].chosen)  # what was confirmed no longer holds
    assert demo.clips.flashed is None and face.answers() == []


def test_the_keys_are_those_that_the_person_has_chosen(face: Face, qtbot: QtBot) -> None:
    face.window.set_keys(face.window.commands.keys.with_keys(Choice.LEFT, "A"))
    demo = opened(face, qtbot)
    face.offer(make_query(), make_query())
    QTest.keyClick(demo, Qt.Key.Key_A)
    qtbot.waitUntil(lambda: [p.choice for p in face.answers()] == [Choice.LEFT])
    assert demo.tiles[Choice.LEFT].accessibleName() == "Left: key A"
    demo.close()


def test_without_a_pair_it_says_why_and_keys_do_nothing(face: Face, demo: DemoWindow, qtbot: QtBot) -> None:
    face.engine["rollout"].play(Waited("rollout", "rollout waits for the policy"))
    qtbot.waitUntil(lambda: demo.headline.text().startswith("Rollout waits for the policy"))
    assert not any(tile.isEnabled() for tile in demo.tiles.values())
    QTest.keyClick(demo, Qt.Key.Key_Left)
    assert face.answers() == []


def test_the_oracle_plays_by_itself_until_one_leaves(face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(face.labelling.oracle_timer, "interval", 0)
    face.labelling.oracle_timer.setInterval(0)
    demo = opened(face, qtbot, Qt.KeyboardModifier.ShiftModifier)
    assert face.labelling.teacher == Teacher.ORACLE and demo.question.text() == "The computer is choosing"
    queries = [make_query(1.0, 0.0), make_query(0.0, 1.0)]
    face.engine.offer(*queries)
    qtbot.waitUntil(lambda: len(face.answers()) == 2)
    assert [(p.choice, p.labeller) for p in face.answers()] == [(Choice.LEFT, "oracle"), (Choice.RIGHT, "oracle")]
    assert demo.tiles[Choice.RIGHT].chosen
    QTest.keyClick(demo, Qt.Key.Key_Escape)
    assert face.labelling.teacher == Teacher.HUMAN and face.controller.state == State.RUNNING


def test_what_is_told_at_the_foot_stays_while_the_oracle_answers(face: Face, qtbot: QtBot) -> None:
    demo = opened(face, qtbot, Qt.KeyboardModifier.ShiftModifier)
    face.controller.trouble_arose.emit("The film was not written.")
    face.offer(make_query(), make_query())
    qtbot.waitUntil(lambda: demo.tiles[Choice.LEFT].chosen)
    assert foot(demo) == "The film was not written."
    demo.close()


def test_a_guests_key_takes_over_from_the_oracle_and_a_key_gives_back(face: Face, qtbot: QtBot) -> None:
    demo = opened(face, qtbot, Qt.KeyboardModifier.ShiftModifier)
    face.labelling.oracle_timer.setInterval(60_000)
    face.offer(make_query(), make_query())
    QTest.keyClick(demo, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: len(face.answers()) == 1)
    assert face.answers()[0].labeller == "human" and face.labelling.teacher == Teacher.HUMAN
    assert demo.question.text() == "Which is better?"
    QTest.keyClick(demo, Qt.Key.Key_F7)
    assert face.labelling.teacher == Teacher.ORACLE
    demo.close()
    assert face.labelling.teacher == Teacher.HUMAN  # who taught before


def test_it_tells_labels_minutes_and_the_measure(face: Face, demo: DemoWindow, qtbot: QtBot) -> None:
    face.offer(make_query())
    QTest.keyClick(demo, Qt.Key.Key_Left)
    face.controller.progress.seconds_before = 180.0
    face.engine["rollout"].play(report(3000))
    qtbot.waitUntil(lambda: demo.measure.text() == "2.5")
    assert (demo.answers.text(), demo.time.text(), demo.time_unit.text()) == ("1", "3", "minutes")


def test_the_window_behind_it_holds_still_and_goes_on_after(face: Face, qtbot: QtBot) -> None:
    face.offer(make_query(), make_query())
    clock = face.window.clips.clock
    assert clock.playing
    demo = opened(face, qtbot)
    assert not clock.playing and demo.clips.clock.playing
    QTest.keyClick(demo, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: len(face.answers()) == 1)
    assert not clock.playing
    demo.close()
    assert clock.playing


def test_when_the_oracle_has_given_all_its_answers_it_says_so(open_face: Callable[..., Face], qtbot: QtBot) -> None:
    face = open_face(labels=1)
    demo = opened(face, qtbot, Qt.KeyboardModifier.ShiftModifier)
    face.offer(make_query(), make_query())
    qtbot.waitUntil(lambda: demo.question.text() == "The computer has given all answers")
    demo.close()


def foot(demo: DemoWindow) -> str:
    shown = demo.findChild(QLabel, "demoFoot")
    assert isinstance(shown, QLabel)
    return shown.text()


def test_closing_the_main_window_ends_it_too(face: Face, qtbot: QtBot) -> None:
    demo = opened(face, qtbot)
    assert demo.isVisible()
    face.close()
    assert face.window.demo_commands.demo is None


def test_opened_while_the_main_window_closes_it_ends_with_it(face: Face, qtbot: QtBot) -> None:
    with qtbot.waitSignal(face.window.closed):
        face.window.close()
        face.press(Qt.Key.Key_F11, Qt.KeyboardModifier.ShiftModifier)
        assert face.controller.state == State.STOPPING and face.window.demo_commands.demo is not None
    assert face.window.demo_commands.demo is None and face.labelling.teacher == Teacher.HUMAN


@pytest.mark.parametrize(("width", "height", "pixels"), [(1280, 720, 42), (3840, 2160, 126)])
def test_text_grows_with_the_screen(face: Face, demo: DemoWindow, width: int, height: int, pixels: int) -> None:
    demo.showNormal()
    demo.resize(width, height)
    assert demo.answers.font().pixelSize() == pixels


def backflips(size: int = 96, count: int = 48) -> Frames:
    """Something to look at in a picture: a bar that turns."""
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    pixels = np.empty((count, size, size, 3), np.uint8)
    for i in range(count):
        angle = 2 * np.pi * i / count
        bar = (np.abs(x * np.sin(angle) + y * np.cos(angle)) < 0.1) & (x**2 + y**2 < 0.5)
        pixels[i] = np.where(
            bar[..., None], (214, 130, 60), np.where(y[..., None] < 0.4, (150, 175, 205), (90, 105, 120))
        )
    return Frames(pixels, 30.0)


def demonstration(predicted: bool = True) -> Demonstration:
    wave = np.sin(np.linspace(0, 19, 319)).astype(np.float32) * 1.4
    return Demonstration(backflips(), wave if predicted else np.zeros(0, np.float32), 120_000, 3.0)


@pytest.mark.parametrize(("size", "scheme"), [((1280, 720), "dark"), ((1920, 1080), "light")])
def test_every_state_has_its_picture(
    face: Face,
    demo: DemoWindow,
    qtbot: QtBot,
    picture: Take,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
    scheme: str,
    qapp: QApplication,
) -> None:
    def take(state: str) -> None:
        qapp.processEvents()  # the layout follows the texts
        picture(demo, f"demo-{state}-{scheme}-{size[0]}x{size[1]}")

    theme.choose(theme.Appearance(scheme))
    monkeypatch.setattr("tests.app.fakes.make_frames", backflips)
    demo.showNormal()
    demo.setFixedSize(*size)
    demo.refresh()
    take("waiting")
    face.controller.progress.labels, face.controller.progress.seconds_before = 12, 180.0
    face.engine["rollout"].play(report(3000))
    demo.policy.play_next(demonstration())
    face.offer(make_query(), make_query(), make_query())
    qtbot.waitUntil(lambda: demo.measure.text() == "2.5")
    take("asking")
    QTest.keyClick(demo, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: demo.clips.flashed is not None)
    take("answered")
    face.labelling.oracle_timer.setInterval(60_000)
    face.labelling.set_teacher(Teacher.ORACLE)
    take("oracle")
    assert demo.palette().window().color() == QColor(theme.palette().background)
