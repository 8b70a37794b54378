"""The answer history: real keys and clicks in its window, what is kept, and how little is read."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.album import Album
from app.widgets.answer_model import ROW, TROUBLE
from app.windows.history import HistoryPage
from app.wording import Sieve
from core.config import Config, replaced
from core.errors import UserError
from core.events import ClipsRequested, PreferenceChanged
from core.preferences import Kept, PreferenceStore
from core.records import Choice, Preference
from core.session import Session
from tests.app.fakes import Face, make_query

Picture = Callable[[QWidget, str], None]
Given = list[tuple[Choice, str]]
MIXED: Given = [
    *((Choice.LEFT, "human"), (Choice.RIGHT, "human"), (Choice.TIE, "human"), (Choice.CANT_TELL, "human")),
    *((Choice.LEFT, "oracle"), (Choice.RIGHT, "oracle")),
]
"""Answers 1 to 6."""


def kept(number: int, choice: Choice, labeller: str = "human", withdrawn: bool = False) -> Kept:
    return Kept(Preference(number, make_query(), choice, labeller, 1.7e9 + 60 * number), withdrawn)


@pytest.fixture
def opened(open_face: Callable[..., Face], tmp_path: Path) -> Callable[..., Face]:
    """A window over a session in which these answers were given before."""

    def make(given: Given, **changes: object) -> Face:
        folder = tmp_path / "session"
        session = Session.create(folder, replaced(Config(), **{"teacher": "human", **changes}))
        with closing(session.store()) as store:
            store.restore([kept(number, *answer) for number, answer in enumerate(given, 1)])
        session.close()
        face = open_face(folder)
        face.qtbot.waitUntil(lambda: face.controller.progress.labels == len(given))
        return face

    return make


def page_of(face: Face) -> HistoryPage:
    """Opens the page by its key and waits until it lists what there is."""
    face.press(Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    page = face.window.review.page
    assert page is not None
    face.qtbot.waitUntil(page.isActiveWindow)
    face.qtbot.waitUntil(lambda: page.empty.headline.text() != "Reading the answers")
    page.resize(1240, 680)
    return page


def listed(page: HistoryPage) -> list[int]:
    return [page.model.index(row).data(ROW).id for row in range(page.model.rowCount())]


def choose(page: HistoryPage, key: int) -> None:
    """Clicks the answer of that number."""
    index = page.model.index_of(key)
    page.list.scrollTo(index)
    QTest.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=page.list.visualRect(index).center())


def playing(page: HistoryPage, key: int) -> bool:
    shown = page.pane.clips.shown
    chosen = page.pane.row is not None and page.pane.row.id == key
    return chosen and shown is not None and page.pane.clips.clock.playing


def stored(face: Face, key: int) -> Kept:
    with closing(face.controller.session.store()) as store:
        return store.answers(key)[0]


def test_all_answers_are_listed_the_newest_first(opened: Callable[..., Face], picture: Picture) -> None:
    face = opened(MIXED)
    page = page_of(face)
    assert listed(page) == [6, 5, 4, 3, 2, 1]
    assert page.count.text() == "6 answers shown"
    assert page.model.index(0).data().startswith("Answer 6: Right is better, oracle, ")
    face.qtbot.waitUntil(lambda: len(page._history.album._stills) >= 5)
    picture(page, "history-list")


def test_with_no_answer_it_says_so(opened: Callable[..., Face], picture: Picture) -> None:
    page = page_of(opened([]))
    assert page.empty.isVisible() and page.empty.headline.text() == "No answer yet"
    picture(page, "history-empty")


def test_a_chosen_answer_plays_both_clips_in_step(opened: Callable[..., Face], qtbot: QtBot, picture: Picture) -> None:
    face = opened(MIXED)
    page = page_of(face)
    QTest.keyClick(page.list, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: playing(page, 5))
    (drawn,) = [e for e in face.engine["clips"].got(ClipsRequested) if e.fps == 30]
    query = stored(face, 5).preference.query
    assert [s.id for s in drawn.segments] == [query.left.id, query.right.id]
    assert (drawn.segments[0].states == query.left.states).all()
    QTest.keyClick(page.list, Qt.Key.Key_Space)
    assert not page.pane.clips.clock.playing
    QTest.keyClick(page.list, Qt.Key.Key_Space)
    assert page.pane.clips.clock.playing
    picture(page, "history-playing")


def test_running_through_the_list_draws_only_where_it_ends(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    page = page_of(face)

    def drawn() -> int:
        return len([e for e in face.engine["clips"].got(ClipsRequested) if e.fps == 30])

    page._play.setInterval(60_000)  # a slow machine must not settle between two keys
    before = drawn()
    for _ in range(4):
        QTest.keyClick(page.list, Qt.Key.Key_Down)
    assert drawn() == before
    page._play.timeout.emit()
    qtbot.waitUntil(lambda: playing(page, 2))
    assert drawn() == before + 1


def test_the_clips_step_and_slow_down_by_the_usual_keys(opened: Callable[..., Face], qtbot: QtBot) -> None:
    page = page_of(opened(MIXED))
    qtbot.waitUntil(lambda: playing(page, 6))
    clock = page.pane.clips.clock
    for widget in (page.list, page.pane):
        widget.setFocus()
        QTest.keyClick(widget, Qt.Key.Key_Period)
        assert not clock.playing
        before = clock.frame
        QTest.keyClick(widget, Qt.Key.Key_Period)
        assert clock.frame == (before + 1) % 8
        QTest.keyClick(widget, Qt.Key.Key_2)
        assert clock.speed == 0.5
        QTest.keyClick(widget, Qt.Key.Key_3)
        QTest.keyClick(widget, Qt.Key.Key_Space)
        assert clock.playing and clock.speed == 1


def test_the_persons_own_keys_work_here_too(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    old = page_of(face)
    old.close()
    face.window.bind(face.window.commands.keys.rebound(Choice.TIE, "H"))
    face.window.activateWindow()
    qtbot.waitUntil(face.window.isActiveWindow)
    page = page_of(face)
    assert page is not old
    choose(page, 2)
    QTest.keyClick(page.list, Qt.Key.Key_Return)
    qtbot.waitUntil(page.pane.hasFocus)
    QTest.keyClick(page.pane, Qt.Key.Key_H)
    qtbot.waitUntil(lambda: page.model.row(2).choice == Choice.TIE)


KEYS = {
    Choice.LEFT: Qt.Key.Key_Left,
    Choice.RIGHT: Qt.Key.Key_Right,
    Choice.TIE: Qt.Key.Key_Up,
    Choice.CANT_TELL: Qt.Key.Key_Down,
}


@pytest.mark.parametrize("choice", [Choice.LEFT, Choice.TIE, Choice.CANT_TELL])
def test_a_key_changes_the_chosen_answer_for_good(opened: Callable[..., Face], qtbot: QtBot, choice: Choice) -> None:
    face = opened(MIXED)
    page = page_of(face)
    choose(page, 2)
    qtbot.waitUntil(lambda: playing(page, 2))
    QTest.keyClick(page.list, Qt.Key.Key_Return)
    qtbot.waitUntil(page.pane.hasFocus)
    QTest.keyClick(page.pane, KEYS[choice])
    qtbot.waitUntil(lambda: page.model.row(2).choice == choice)
    assert page.pane.clips.flashed == choice and page.pane.choices[choice].isChecked()
    assert "It was: Right is better." in page.pane.note.text()
    found = stored(face, 2)
    assert found.preference.choice == choice and [c.choice for c in found.changes] == [Choice.RIGHT]
    for name in ("reward", "rollout"):
        process = face.engine[name]
        qtbot.waitUntil(lambda process=process: len(process.got(PreferenceChanged)) == 1)
        (heard,) = process.got(PreferenceChanged)
        assert (heard.preference.id, heard.preference.choice) == (2, choice)
    assert not face.engine["policy"].got(PreferenceChanged)
    assert face.controller.progress.labels == 6


def test_a_change_is_undone_by_a_change_back(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    page = page_of(face)
    choose(page, 1)
    for choice in (Choice.TIE, Choice.LEFT):
        QTest.mouseClick(page.pane.choices[choice], Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda choice=choice: page.model.row(1).choice == choice)
    found = stored(face, 1)
    assert found.preference.choice == Choice.LEFT
    assert [c.choice for c in found.changes] == [Choice.LEFT, Choice.TIE]
    QTest.mouseClick(page.pane.choices[Choice.LEFT], Qt.MouseButton.LeftButton)  # what it is already
    assert page.pane.choices[Choice.LEFT].isChecked()
    assert len(stored(face, 1).changes) == 2


def test_arrows_in_the_list_change_nothing(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    page = page_of(face)
    choose(page, 2)
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down):
        QTest.keyClick(page.list, key)
    qtbot.waitUntil(lambda: playing(page, 2))
    QTest.keyClick(page.list, Qt.Key.Key_Return)
    QTest.keyClick(page.pane, Qt.Key.Key_Escape)
    qtbot.waitUntil(page.list.hasFocus)
    assert all(not stored(face, key).changes for key in range(1, 7))


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
    assert [c.choice for c in stored(face, 7).changes] == []


def test_an_answer_that_stands_again_is_listed_again_at_its_place(
    opened: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = opened(MIXED[:3])
    for labels in (2, 1):
        face.press(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        qtbot.waitUntil(lambda labels=labels: face.controller.progress.labels == labels)
    page = page_of(face)
    assert listed(page) == [1]
    face.window.activateWindow()
    qtbot.waitUntil(face.window.isActiveWindow)
    for wanted in ([2, 1], [3, 2, 1]):
        face.press(Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
        qtbot.waitUntil(lambda wanted=wanted: listed(page) == wanted)
    page.model.list_all(Sieve(choice=Choice.LEFT))
    assert listed(page) == [1]
    page.model.take(replace(page.model.row(3), choice=Choice.LEFT))
    page.model.take(replace(page.model.row(2), choice=Choice.LEFT))
    assert listed(page) == [3, 2, 1]


def test_the_filters_let_through_what_they_say(opened: Callable[..., Face], qtbot: QtBot, picture: Picture) -> None:
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
    qtbot.waitUntil(lambda: len(page._history.album._stills) >= 3)
    picture(page, "history-filtered")
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
    assert listed(page) == [] and page.empty.headline.text() == "No such answer"


@pytest.mark.parametrize("state", ["withdrawn", "repeat"])
def test_what_does_not_count_can_not_be_changed(
    open_face: Callable[..., Face], tmp_path: Path, qtbot: QtBot, state: str
) -> None:
    face = open_face()
    with closing(face.controller.session.store()) as store:
        first = store.add(make_query(), Choice.LEFT, "human")
        (answer,) = store.answers(first.id)
        pair = answer.preference.query
        store.add(replace(pair, left=pair.right, right=pair.left, repeats=1), Choice.LEFT, "human")
        if state == "withdrawn":
            store.withdraw_last()
    page = page_of(face)
    page.filter.withdrawn_too.setChecked(True)
    choose(page, 2)
    assert not any(made.isEnabled() for made in page.pane.choices.values())
    assert ("taken back" if state == "withdrawn" else "repeats number 1") in page.pane.note.text()
    page.pane.setFocus()
    QTest.keyClick(page.pane, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: playing(page, 2))
    assert stored(face, 2).preference.choice == Choice.LEFT


def test_a_change_that_can_not_be_kept_changes_nothing(
    opened: Callable[..., Face], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = opened(MIXED)
    page = page_of(face)

    def full(store: PreferenceStore, key: int, choice: Choice, labeller: str) -> Preference:
        raise UserError("The disk is full: make room, then answer again.")

    monkeypatch.setattr(PreferenceStore, "change", full)
    choose(page, 2)
    QTest.mouseClick(page.pane.choices[Choice.LEFT], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.pane.note.text() == "The disk is full: make room, then answer again.")
    assert page.pane.choices[Choice.RIGHT].isChecked() and not page.pane.choices[Choice.LEFT].isChecked()
    assert not face.engine["reward"].got(PreferenceChanged)


def vandalise(face: Face, statement: str) -> None:
    with closing(sqlite3.connect(face.folder / "preferences.sqlite")) as vandal:
        vandal.execute(statement)
        vandal.commit()


def test_what_can_not_be_read_shows_a_sentence_and_spoils_nothing(
    opened: Callable[..., Face], qtbot: QtBot, picture: Picture
) -> None:
    face = opened(MIXED)
    segment = stored(face, 4).preference.query.left.id
    vandalise(face, f"UPDATE segments SET arrays = x'00' WHERE id = {segment}")
    vandalise(face, "UPDATE preferences SET choice = 'perhaps' WHERE id = 5")
    page = page_of(face)
    assert listed(page) == [6, 5, 4, 3, 2, 1]
    told = page.model.index_of(5).data(TROUBLE)
    assert told.startswith("Answer 5 can't be read ('perhaps' is not a valid Choice): ")
    qtbot.waitUntil(lambda: "can't be read" in page.model.index_of(4).data(TROUBLE))
    assert [page.model.index_of(key).data(TROUBLE) for key in (6, 3, 2)] == [""] * 3
    choose(page, 4)
    assert page.pane.empty.headline.text() == "This answer can't be shown"
    assert not any(made.isEnabled() for made in page.pane.choices.values())
    QTest.qWait(50)  # for the picture alone: the text is laid out anew
    picture(page, "history-unreadable")
    choose(page, 5)
    assert page.pane.empty.headline.text() == "This answer can't be shown"
    assert not any(made.isEnabled() for made in page.pane.choices.values())
    choose(page, 3)
    qtbot.waitUntil(lambda: playing(page, 3))
    QTest.mouseClick(page.pane.choices[Choice.LEFT], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.model.row(3).choice == Choice.LEFT)


def test_a_store_that_can_not_be_read_is_told_of_in_the_page(
    opened: Callable[..., Face], monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    face = opened(MIXED)

    def broken(store: PreferenceStore, key: int | None = None) -> None:
        raise UserError("The disk has failed: check it.")

    monkeypatch.setattr(PreferenceStore, "rows", broken)
    page = page_of(face)
    qtbot.waitUntil(lambda: page.empty.headline.text() == "The answers can't be read")
    assert page.empty.detail.text() == "The disk has failed: check it."


class Counted:
    """How many answers were read with their segments, and by which threads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keys: list[int] = []
        self.threads: set[int] = set()
        answers = PreferenceStore.answers

        def counting(store: PreferenceStore, *keys: int) -> list[Kept]:
            self.keys += keys
            self.threads.add(threading.get_ident())
            return answers(store, *keys)

        monkeypatch.setattr(PreferenceStore, "answers", counting)


def visible(page: HistoryPage) -> int:
    return page.list.viewport().height() // page.list.sizeHintForRow(0) + 2


def settled(album: Album) -> bool:
    return not album._under_way and not album._wanted


def test_of_two_thousand_answers_only_those_on_screen_are_read(
    opened: Callable[..., Face], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [(Choice.LEFT, "human")] * 2000
    face = opened(few, labels=3000)
    counted = Counted(monkeypatch)
    page = page_of(face)
    album = page._history.album
    assert page.model.rowCount() == 2000
    qtbot.waitUntil(lambda: bool(album._stills) and settled(album))
    qtbot.waitUntil(lambda: playing(page, 2000))
    assert counted.keys.count(2000) == 2  # for its still, and to be played
    counted.keys.remove(2000)
    assert 3 <= len(counted.keys) == len(set(counted.keys)) <= visible(page)
    assert len(face.engine["clips"].got(ClipsRequested)) == len(counted.keys) + 1
    assert threading.main_thread().ident not in counted.threads
    assert len(page.findChildren(QWidget)) < 120  # whatever the number of answers


def test_scrolling_through_thousands_keeps_memory_bounded(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened([(Choice.LEFT, "human")] * 2000, labels=3000)
    page = page_of(face)
    album = page._history.album
    bar = page.list.verticalScrollBar()
    for step in range(101):
        bar.setValue(bar.maximum() * step // 100)
        page.list.viewport().repaint()
    qtbot.waitUntil(lambda: settled(album))
    assert len(face.engine["clips"].got(ClipsRequested)) <= 24 + visible(page) + 101  # not the 2,000 scrolled past
    for step in range(101):
        bar.setValue(bar.maximum() * step // 100)
        page.list.viewport().repaint()
        qtbot.waitUntil(lambda: settled(album))
    assert len(album._stills) == 64
    for key in (1, 2, 3, 4):
        album.play(key)
        qtbot.waitUntil(lambda key=key: key in album._pairs)
    assert list(album._pairs) == [3, 4]


def test_what_was_played_lately_is_not_drawn_again(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    page = page_of(face)
    for key in (1, 2, 1):
        choose(page, key)
        qtbot.waitUntil(lambda key=key: playing(page, key))
    assert len([e for e in face.engine["clips"].got(ClipsRequested) if e.fps == 30]) == 2


def test_closing_it_keeps_nothing_and_opening_it_again_shows_all(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    page = page_of(face)
    choose(page, 2)
    qtbot.waitUntil(lambda: playing(page, 2))
    QTest.keyClick(page, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: not page.isVisible())
    album = page._history.album
    assert not album._stills and not album._pairs and page.model.rowCount() == 0
    assert not page.pane.clips.clock.playing
    face.window.activateWindow()
    qtbot.waitUntil(face.window.isActiveWindow)
    assert page_of(face) is page
    qtbot.waitUntil(lambda: listed(page) == [6, 5, 4, 3, 2, 1])


def test_it_closes_with_the_main_window(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    page = page_of(face)
    face.close()
    assert not page.isVisible()


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


def test_clips_under_way_are_drawn_after_a_restart_of_their_process(
    opened: Callable[..., Face], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = opened(MIXED)
    page = page_of(face)
    qtbot.waitUntil(lambda: settled(page._history.album))
    clips = face.engine["clips"]
    monkeypatch.setattr(clips, "send", lambda event: None)
    choose(page, 2)
    qtbot.waitUntil(lambda: page._history.album._drawing is not None)
    clips.die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    QTest.mouseClick(face.window.banner.restart, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: playing(page, 2))


def test_a_selection_survives_another_filter(opened: Callable[..., Face]) -> None:
    face = opened(MIXED)
    page = page_of(face)
    page.list.selectionModel().setCurrentIndex(page.model.index_of(5), QItemSelectionModel.SelectionFlag.ClearAndSelect)
    page.filter.labeller.setCurrentIndex(2)
    assert listed(page) == [6, 5] and page.list.current and page.list.current.id == 5
    page.filter.choice.setCurrentIndex(2)
    assert listed(page) == [6] and page.pane.row is None
