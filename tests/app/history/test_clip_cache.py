"""How little of a long history is read, drawn and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.history.clip_cache import ClipCache
from app.windows.history import HistoryPage
from core.events import ClipsRequested
from core.preferences.store import PreferenceStore, StoredPreference
from core.types import Choice
from tests.app.fakes import Face
from tests.app.history_page_driver import MIXED, choose, listed, page_of, playing

Picture = Callable[[QWidget, str], None]


class Counted:
    """How many answers were read with their segments, and by which threads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keys: list[int] = []
        self.threads: set[int] = set()
        answers = PreferenceStore.answers

        def counting(store: PreferenceStore, *keys: int) -> list[StoredPreference]:
            self.keys += keys
            self.threads.add(threading.get_ident())
            return answers(store, *keys)

        monkeypatch.setattr(PreferenceStore, "answers", counting)


def visible(page: HistoryPage) -> int:
    return page.list.viewport().height() // page.list.sizeHintForRow(0) + 2


def settled(album: ClipCache) -> bool:
    return not album._under_way and not album._wanted


def test_of_two_thousand_answers_only_those_on_screen_are_read(
    opened: Callable[..., Face], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [(Choice.LEFT, "human")] * 2000
    face = opened(few, labels=3000)
    counted = Counted(monkeypatch)
    page = page_of(face)
    album = page._history.clip_cache
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
    album = page._history.clip_cache
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
    album = page._history.clip_cache
    assert not album._stills and not album._pairs and page.model.rowCount() == 0
    assert not page.pane.clips.clock.playing
    face.window.activateWindow()
    qtbot.waitUntil(face.window.isActiveWindow)
    assert page_of(face) is page
    qtbot.waitUntil(lambda: listed(page) == [6, 5, 4, 3, 2, 1])


def test_clips_under_way_are_drawn_after_a_restart_of_their_process(
    opened: Callable[..., Face], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = opened(MIXED)
    page = page_of(face)
    qtbot.waitUntil(lambda: settled(page._history.clip_cache))
    clips = face.engine["clips"]
    monkeypatch.setattr(clips, "send", lambda event: None)
    choose(page, 2)
    qtbot.waitUntil(lambda: page._history.clip_cache._drawing is not None)
    clips.die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    QTest.mouseClick(face.window.banner.restart, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: playing(page, 2))
