"""Votes of an audience in demo mode: the majority is one answer, and nothing is served without a person's consent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QMessageBox, QWidget

from app.keys.commands import Command
from app.style import theme
from app.windows.demo import DemoWindow
from core.errors import UserError
from core.events import Failed, Waited
from core.preferences.schedule import FINISHED
from core.preferences.store import PreferenceStore
from core.service_events import VoteKept, VoteOpened, VotesCounted, VotesNotStored, VotingServed
from core.types import AUDIENCE, Choice, Teacher
from tests.app.fakes import DRIVEN, Face, FakeMessage, FakeProcess, make_query
from tests.app.tape import report
from tests.core.builders import raising

URL = "http://192.0.2.1:4321/abc123"


@pytest.fixture
def face(open_face: Callable[..., Face]) -> Face:
    return open_face(**DRIVEN)


@pytest.fixture
def voting(face: Face) -> Iterator[tuple[Face, DemoWindow, FakeProcess]]:
    """A window in demo mode, and the child process that serves the page."""
    face.window.commands[Command.VOTE].trigger()
    accept(face)
    face.engine["voting"].play(VotingServed(URL))
    demo = face.window.watching_commands.demo
    face.wait_until(lambda: demo.code is not None)
    yield face, demo, face.engine["voting"]
    face.window.watching_commands.leave_demo()


def accept(face: Face, button: QMessageBox.StandardButton = QMessageBox.StandardButton.Yes) -> None:
    (box,) = face.window.findChildren(QMessageBox)
    assert "Anyone on this computer's network who sees the address" in box.informativeText()
    face.wait_until(box.isActiveWindow)
    assert box.focusWidget() is box.button(QMessageBox.StandardButton.Cancel)
    QTest.mouseClick(box.button(button), Qt.MouseButton.LeftButton)


def pixels(widget: QWidget) -> npt.NDArray[np.uint8]:
    """Return the picture of a widget, (height, width, 3)."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def scanned(code: QWidget) -> str:
    """Return the text of a QR code, decoded from the screen as by a phone."""
    return str(cv2.QRCodeDetector().detectAndDecode(pixels(code))[0])


def bar_lengths(bars: QWidget) -> list[int]:
    """Return the lengths in pixels of the bars for left, tie and right."""
    picture, colours = pixels(bars), (theme.palette().green, theme.palette().grey)
    filled = sum((picture == np.uint8(QColor(colour).getRgb()[:3])).all(axis=2) for colour in colours)
    return [int(filled[round((number + 0.5) * len(picture) / 3)].sum()) for number in range(3)]


def test_nothing_is_served_unless_the_person_says_so(face: Face) -> None:
    face.window.watching_commands.open_demo()
    face.window.watching_commands.leave_demo()
    face.window.commands[Command.VOTE].trigger()
    accept(face, QMessageBox.StandardButton.Cancel)
    assert not face.controller.votes.on and all(made.spec.name != "voting" for made in face.engine.made)


def test_the_majority_is_one_answer_with_its_votes(voting: tuple[Face, DemoWindow, FakeProcess]) -> None:
    face, demo, child = voting
    assert scanned(demo.code) == URL and demo.bars.isVisible() and not demo.tiles[Choice.LEFT].isVisible()
    assert "End voting" in demo.hints.text() and "guest" not in demo.hints.text()
    assert demo.hints.text().startswith("← ↑ → You answer") and "F6" not in demo.hints.text()
    QTest.keyClick(demo, Qt.Key.Key_F2)
    assert not demo.findChildren(QInputDialog)
    QTest.keyClick(demo, Qt.Key.Key_F7)  # the oracle does not answer in place of the audience
    assert face.labelling.teacher == Teacher.HUMAN and "Computer" not in demo.hints.text()
    face.wait_until(lambda: demo.code.height() > demo.height() / 2)  # large enough for the back of a room
    face.offer(make_query(), make_query())
    face.wait_until(lambda: bool(child.got(VoteOpened)))
    number = child.got(VoteOpened)[-1].round
    child.play(VotesCounted(number - 1, {"left": 9}, 0.0, True))  # late votes on an earlier pair
    child.play(VotesCounted(number, {"left": 1, "tie": 0, "right": 2}, 3.0, False))
    face.wait_until(lambda: bar_lengths(demo.bars)[2] > 0)
    left, tie, right = bar_lengths(demo.bars)
    assert tie == 0 and right == pytest.approx(2 * left, rel=0.05)
    assert face.answers() == []
    child.play(VotesCounted(number, {"left": 1, "tie": 0, "right": 3}, 0.0, True))
    face.wait_until(lambda: bool(child.got(VoteKept)))
    (answer,) = face.answers()
    assert (answer.choice, answer.labeller) == (Choice.RIGHT, AUDIENCE)
    demo.refresh()
    assert demo.title.text() == "Hopper: backflips  ·  the audience chose right, 3 of 4"
    assert child.got(VoteKept) == [VoteKept(str(face.folder), number, answer.id, "right")]
    face.wait_until(lambda: child.got(VoteOpened)[-1].round > number)  # the next pair
    QTest.keyClick(demo, Qt.Key.Key_Backspace)
    face.wait_until(lambda: face.answers() == [])
    demo.refresh()
    assert demo.title.text() == "Hopper: backflips"


@pytest.mark.slow_after_first
@pytest.mark.parametrize("ties", [0, 1])
def test_equal_votes_are_stored_and_shown_as_a_tie(voting: tuple[Face, DemoWindow, FakeProcess], ties: int) -> None:
    face, demo, child = voting
    face.offer(make_query(), make_query())
    face.wait_until(lambda: bool(child.got(VoteOpened)))
    child.play(VotesCounted(child.got(VoteOpened)[-1].round, {"left": 3, "tie": ties, "right": 3}, 0.0, True))
    face.wait_until(lambda: bool(child.got(VoteKept)))
    assert face.answers()[-1].choice == Choice.TIE
    demo.refresh()
    assert demo.title.text().endswith("the audience chose neither clip: a tie")


def test_an_answer_of_the_audience_that_cannot_be_saved_is_voted_on_again(
    voting: tuple[Face, DemoWindow, FakeProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    face, demo, child = voting
    face.offer(make_query(), make_query())
    face.wait_until(lambda: bool(child.got(VoteOpened)))
    number = child.got(VoteOpened)[-1].round
    with monkeypatch.context() as full:
        full.setattr(PreferenceStore, "add", raising(UserError("The disk is full: make room, then answer again.")))
        child.play(VotesCounted(number, {"left": 0, "tie": 0, "right": 5}, 0.0, True))
        face.wait_until(lambda: child.got(VoteOpened)[-1].round > number)
    QTest.keyClick(demo, Qt.Key.Key_Left)  # the presenter answers instead
    face.wait_until(lambda: len(face.answers()) == 1)
    demo.refresh()
    assert child.got(VoteKept) == [] and "audience chose" not in demo.title.text()


def test_votes_of_an_answer_being_saved_survive_a_pause(
    voting: tuple[Face, DemoWindow, FakeProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    face, _, child = voting
    add, saving, may_save = PreferenceStore.add, threading.Event(), threading.Event()

    def held(store: PreferenceStore, *args: Any) -> Any:
        saving.set()
        may_save.wait(60)
        return add(store, *args)

    monkeypatch.setattr(PreferenceStore, "add", held)
    face.offer(make_query(), make_query())
    face.wait_until(lambda: bool(child.got(VoteOpened)))
    child.play(VotesCounted(child.got(VoteOpened)[-1].round, {"left": 0, "tie": 0, "right": 5}, 0.0, True))
    face.wait_until(saving.is_set)
    face.controller.pause(True)
    may_save.set()
    face.wait_until(lambda: bool(child.got(VoteKept)))


def test_the_presenters_own_answer_has_no_votes(voting: tuple[Face, DemoWindow, FakeProcess]) -> None:
    face, demo, child = voting
    face.offer(make_query(), make_query())
    QTest.keyClick(demo, Qt.Key.Key_Left)
    face.wait_until(lambda: len(child.got(VoteOpened)) >= 2)
    assert [answer.labeller for answer in face.answers()] == ["human"] and child.got(VoteKept) == []


def counted(face: Face, child: FakeProcess, number: int) -> None:
    """Play the final votes of this round, and wait until they have arrived."""
    with face.wait_signal(face.labelling.trouble_arose):
        child.play(VotesCounted(number, {"left": 0, "tie": 0, "right": 5}, 0.0, True))
        child.play(VotesNotStored("no disk"))


def test_the_votes_wait_while_training_finishes(voting: tuple[Face, DemoWindow, FakeProcess]) -> None:
    face, demo, child = voting
    face.offer(make_query(), make_query())
    face.engine["rollout"].play(report(1000))
    face.wait_until(lambda: face.controller.can_finish and bool(child.got(VoteOpened)))
    number = child.got(VoteOpened)[-1].round
    face.controller.finish()
    face.wait_until(lambda: child.got(VoteOpened)[-1] == VoteOpened(number + 1, 0.0))
    counted(face, child, number)
    face.engine["rollout"].play(report(2000, finishing=0.5))
    face.wait_until(lambda: face.controller.course.finishing == 0.5)
    demo.refresh()
    assert "finishing training: 50% (voting resumes after the presenter's answer)" in demo.title.text()
    face.engine["rollout"].play(Waited("rollout", FINISHED))
    face.wait_until(lambda: face.controller.course.finished)
    demo.refresh()
    assert "training is finished (the presenter's answer resumes training and voting)" in demo.title.text()
    assert face.answers() == [] and child.got(VoteOpened)[-1].seconds == 0
    QTest.keyClick(demo, Qt.Key.Key_Left)
    face.wait_until(lambda: child.got(VoteOpened)[-1].seconds > 0)
    assert [answer.labeller for answer in face.answers()] == ["human"]


def test_the_votes_wait_while_training_is_paused(voting: tuple[Face, DemoWindow, FakeProcess]) -> None:
    face, demo, child = voting
    face.offer(make_query(), make_query())
    face.wait_until(lambda: bool(child.got(VoteOpened)))
    number = child.got(VoteOpened)[-1].round
    QTest.keyClick(demo, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    face.wait_until(lambda: child.got(VoteOpened)[-1] == VoteOpened(number + 1, 0.0))
    demo.refresh()
    assert "training and voting are paused" in demo.title.text()
    counted(face, child, number)
    QTest.keyClick(demo, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    face.wait_until(lambda: child.got(VoteOpened)[-1].seconds > 0)
    assert face.answers() == []


def test_no_votes_are_asked_for_while_the_session_is_stopped(voting: tuple[Face, DemoWindow, FakeProcess]) -> None:
    face, _, child = voting
    face.offer(make_query(), make_query())
    face.wait_until(lambda: child.got(VoteOpened)[-1].seconds > 0)
    face.stop()
    face.wait_until(lambda: child.got(VoteOpened)[-1].seconds == 0)
    counted(face, child, child.got(VoteOpened)[-2].round)
    assert child.got(VoteOpened)[-1].seconds == 0 and face.answers() == []


def test_leaving_full_screen_ends_the_voting(voting: tuple[Face, DemoWindow, FakeProcess]) -> None:
    face, demo, child = voting
    QTest.keyClick(demo, Qt.Key.Key_Escape)
    face.wait_until(lambda: child.stopped and not face.controller.votes.on)


def test_a_pair_offered_while_voting_ends_returns_to_the_oracle(
    voting: tuple[Face, DemoWindow, FakeProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    face, demo, child = voting
    face.labelling.teacher_after_demo = Teacher.ORACLE  # the previous teacher
    reading, left, ending, may_end = (threading.Event() for _ in range(4))

    def receive(timeout: float) -> FakeMessage:
        reading.set()
        assert left.wait(60)
        return FakeMessage(VotingServed(URL))  # late

    def stop() -> None:
        ending.set()
        assert may_end.wait(60)

    monkeypatch.setattr(child, "receive", receive)
    monkeypatch.setattr(child, "stop", stop)
    face.wait_until(reading.is_set)
    QTest.keyClick(demo, Qt.Key.Key_Escape)
    face.offer(make_query())
    left.set()
    face.wait_until(ending.is_set)
    QCoreApplication.sendPostedEvents()
    assert face.controller.votes.on and face.controller.votes.url == ""
    assert face.labelling.teacher == Teacher.ORACLE
    may_end.set()
    face.wait_until(lambda: not face.controller.votes.on)


def test_a_failure_to_serve_the_page_is_one_sentence(voting: tuple[Face, DemoWindow, FakeProcess]) -> None:
    face, demo, child = voting
    child.play(Failed("voting", "This computer is not connected to a network", "traceback"))
    face.wait_until(lambda: demo.code is None)
    assert demo.tiles[Choice.LEFT].isVisible() and not demo.bars.isVisible()
    assert "Audience votes" in demo.hints.text() and "Next guest" in demo.hints.text()
