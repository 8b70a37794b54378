"""The clip cache: little of a long history is read, rendered and kept in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from core.events import ClipsRequested
from core.preferences.store import PreferenceStore
from core.types import Choice, Preference
from tests.app.fakes import Face
from tests.app.history_page_driver import MIXED, choose, listed, page_of, playing


def test_of_many_answers_only_those_on_screen_are_read_and_few_stay_in_memory(
    opened: Callable[..., Face], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = opened([(Choice.LEFT, "human")] * 150)
    keys, threads = list[int](), set[int]()
    answer = PreferenceStore.answer

    def counting(store: PreferenceStore, wanted: int) -> Preference:
        keys.append(wanted)
        threads.add(threading.get_ident())
        return answer(store, wanted)

    monkeypatch.setattr(PreferenceStore, "answer", counting)
    page = page_of(face)
    cache, bar = face.controller.preference_history.clip_cache, page.list.verticalScrollBar()
    visible = page.list.viewport().height() // page.list.sizeHintForRow(0) + 2
    qtbot.waitUntil(lambda: bool(cache.cached_stills) and cache.idle and playing(page, 150))
    assert keys.count(150) == 2  # for its still, and to be played
    keys.remove(150)
    assert 3 <= len(keys) == len(set(keys)) <= visible and threading.main_thread().ident not in threads
    assert len(face.engine["clips"].got(ClipsRequested)) == len(keys) + 1
    assert len(page.findChildren(QWidget)) < 120  # however many the answers
    keys.clear()
    for step in range(51):
        bar.setValue(bar.maximum() * step // 50)
        page.list.viewport().repaint()
    qtbot.waitUntil(lambda: cache.idle)
    assert len(keys) <= 24 + visible + 51  # not the rows scrolled past
    for step in range(0, 101, 5):
        bar.setValue(bar.maximum() * step // 100)
        page.list.viewport().repaint()
        qtbot.waitUntil(lambda: cache.idle)
    assert len(cache.cached_stills) == 64
    for key in (1, 2, 3, 4):
        cache.play(key)
        qtbot.waitUntil(lambda key=key: key in cache.cached_pairs)
    assert cache.cached_pairs == (3, 4)


def test_recent_clips_are_not_rendered_again_and_closing_the_page_empties_the_cache(
    opened: Callable[..., Face], qtbot: QtBot
) -> None:
    face = opened(MIXED)
    page = page_of(face)
    for key in (1, 2, 1, 2):
        choose(page, key)
        qtbot.waitUntil(lambda key=key: playing(page, key))
    assert len([event for event in face.engine["clips"].got(ClipsRequested) if event.fps == 30]) == 2
    QTest.keyClick(page, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: not page.isVisible())
    cache = face.controller.preference_history.clip_cache
    assert not cache.cached_stills and not cache.cached_pairs and page.model.rowCount() == 0
    assert not page.pane.clips.clock.playing
    face.window.activateWindow()
    qtbot.waitUntil(face.window.isActiveWindow)
    assert page_of(face) is page
    qtbot.waitUntil(lambda: listed(page) == [6, 5, 4, 3, 2, 1])
