"""The clip cache: only a small part of a long history is read, rendered and kept in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from core.preferences.store import PreferenceStore
from core.service_events import ClipsRequested
from core.types import Choice, Preference
from tests.app.fakes import Face
from tests.app.history_page_driver import choose, listed, page_of, playing


def test_only_answers_on_screen_are_read_and_few_stay_in_memory(
    opened: Callable[..., Face], monkeypatch: pytest.MonkeyPatch
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
    face.wait_until(lambda: cache.stills(150) is not None and cache.idle and playing(page, 150))
    assert keys.count(150) == 2  # once for its still and once for its clips
    keys.remove(150)
    assert 3 <= len(keys) == len(set(keys)) <= visible and threading.main_thread().ident not in threads
    assert len(face.engine["clips"].got(ClipsRequested)) == len(keys) + 1
    assert len(page.findChildren(QWidget)) < 120  # independent of the number of answers
    keys.clear()
    for step in range(51):
        bar.setValue(bar.maximum() * step // 50)
        page.list.viewport().repaint()
    face.wait_until(lambda: cache.idle)
    assert len(keys) <= 24 + visible + 51  # rows that were scrolled past are left out
    for step in range(0, 101, 5):
        bar.setValue(bar.maximum() * step // 100)
        page.list.viewport().repaint()
        face.wait_until(lambda: cache.idle)
    assert sum(cache.stills(key) is not None for key in range(1, 151)) == 64
    drawn = list[int]()
    cache.pair_drawn.connect(lambda key, _: drawn.append(key))
    for key in (1, 2, 3, 4):
        cache.play(key)
        face.wait_until(lambda key=key: drawn[-1:] == [key])
    drawn.clear()
    for key in (3, 4, 2):
        cache.play(key)
    assert drawn == [3, 4]  # immediately; the others are rendered again


def test_recent_clips_are_cached_until_the_page_is_closed(
    mixed: Face,
) -> None:
    page = page_of(mixed)
    for key in (1, 2, 1, 2):
        choose(mixed, key)
        mixed.wait_until(lambda key=key: playing(page, key))
    assert len([event for event in mixed.engine["clips"].got(ClipsRequested) if event.fps == 30]) == 2
    QTest.keyClick(page, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    mixed.wait_until(lambda: not page.isVisible())
    cache = mixed.controller.preference_history.clip_cache
    with mixed.qtbot.assertNotEmitted(cache.pair_drawn):
        cache.play(2)
    assert not any(map(cache.stills, range(1, 7))) and page.model.rowCount() == 0
    assert not page.pane.clips.clock.playing
    mixed.activate()
    assert page_of(mixed) is page
    mixed.wait_until(lambda: listed(page) == [6, 5, 4, 3, 2, 1])
