"""The answer history: real keys and clicks in its window."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from core.events import ClipsRequested
from core.types import Choice
from tests.app.fakes import Face, make_query
from tests.app.history_page_driver import MIXED, choose, listed, page_of, playing, stored

Picture = Callable[[QWidget, str], None]


def test_all_answers_are_listed_the_newest_first(opened: Callable[..., Face], picture: Picture) -> None:
    face = opened(MIXED)
    page = page_of(face)
    assert listed(page) == [6, 5, 4, 3, 2, 1]
    assert page.count.text() == "6 answers shown"
    assert page.model.index(0).data().startswith("Answer 6: Right is better, oracle, ")
    face.qtbot.waitUntil(lambda: len(face.controller.preference_history.clip_cache.cached_stills) >= 5)
    picture(page, "history-list")


def test_a_chosen_answer_plays_both_clips_in_step(opened: Callable[..., Face], qtbot: QtBot, picture: Picture) -> None:
    face = opened(MIXED)
    page = page_of(face)
    QTest.keyClick(page.list, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: playing(page, 5))
    (drawn,) = [e for e in face.engine["clips"].got(ClipsRequested) if e.fps == 30]
    query = face.answers()[4].query
    assert [s.id for s in drawn.segments] == [query.left.id, query.right.id]
    assert (drawn.segments[0].states == query.left.states).all()
    QTest.keyClick(page.list, Qt.Key.Key_Space)
    assert not page.pane.clips.clock.playing
    QTest.keyClick(page.list, Qt.Key.Key_Space)
    assert page.pane.clips.clock.playing
    picture(page, "history-playing")


def test_the_labelling_page_goes_on_beside_it(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    page = page_of(face)
    choose(page, 3)
    face.window.activateWindow()
    qtbot.waitUntil(face.window.isActiveWindow)
    query = make_query()
    face.offer(query)
    face.press(Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: listed(page) == [7, 6, 5, 4, 3, 2, 1])
    assert page.list.current and page.list.current.id == 3
    face.press(Qt.Key.Key_Backspace)
    qtbot.waitUntil(lambda: page.model.row(7).withdrawn)
    assert not stored(face, 7).changes


def test_the_filters_let_through_what_they_say(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: face.controller.progress.labels == 7)
    face.press(Qt.Key.Key_Backspace)
    qtbot.waitUntil(lambda: face.controller.progress.labels == 6)
    page = page_of(face)
    assert listed(page) == [6, 5, 4, 3, 2, 1]
    QTest.mouseClick(
        page.filter.withdrawn_too, Qt.MouseButton.LeftButton, pos=page.filter.withdrawn_too.rect().center()
    )
    assert listed(page) == [7, 6, 5, 4, 3, 2, 1]
    page.filter.choice.setFocus()
    QTest.keyClick(page.filter.choice, Qt.Key.Key_Down)  # left
    assert listed(page) == [7, 5, 1]
    qtbot.waitUntil(lambda: len(face.controller.preference_history.clip_cache.cached_stills) >= 3)
    page.filter.labeller.setFocus()
    QTest.keyClick(page.filter.labeller, Qt.Key.Key_Down)  # human
    assert listed(page) == [7, 1]
    choose(page, 1)
    QTest.mouseClick(page.pane.choices[Choice.TIE], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.model.row(1).choice == Choice.TIE)
    assert listed(page) == [7, 1]  # it doesn't vanish under one's eyes
    page.filter.choice.setCurrentIndex(0)
    page.filter.changed_only.setChecked(True)
    assert listed(page) == [1]
    page.filter.choice.setCurrentIndex(2)
    assert listed(page) == [] and page.empty.headline.text() == "No matching answers"


def test_while_the_session_is_stopped_it_says_why_nothing_plays(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    with qtbot.waitSignal(face.controller.stopped):
        face.window.stop_action.trigger()
    page = page_of(face)
    choose(page, 2)
    qtbot.waitUntil(lambda: "press Start" in page.pane.empty.detail.text())
    QTest.mouseClick(page.pane.choices[Choice.TIE], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.model.row(2).choice == Choice.TIE)
    face.window.pause_action.trigger()
    qtbot.waitUntil(lambda: playing(page, 2))
