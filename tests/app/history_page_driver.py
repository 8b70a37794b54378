"""Driver of the answer history: opens its page and reads it."""

from __future__ import annotations

import os
from contextlib import closing
from unittest.mock import patch

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.history.preference_model import ROW
from app.windows.history import HistoryPage
from core.events import AnswersPredicted, PredictionsRequested
from core.preferences.store import PreferenceStore, PreferenceSummary
from core.types import Choice
from tests.app.fakes import Face, make_query

Given = list[tuple[Choice, str]]
MIXED: Given = [
    *((Choice.LEFT, "human"), (Choice.RIGHT, "human"), (Choice.TIE, "human"), (Choice.CANT_TELL, "human")),
    *((Choice.LEFT, "oracle"), (Choice.RIGHT, "oracle")),
]
"""Answers 1 to 6."""


def fill(store: PreferenceStore, given: Given) -> None:
    """Add these answers, a minute apart."""
    for number, (choice, labeller) in enumerate(given, 1):
        with patch("time.time", lambda now=1.7e9 + 60 * number: now):
            store.add(make_query(), choice, labeller)


def page_of(face: Face) -> HistoryPage:
    """Open the page by its key, and wait until it lists the answers."""
    face.press(Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    page = face.window.history_commands.page
    face.wait_until(page.isActiveWindow)
    face.wait_until(lambda: page.empty.headline.text() != "Loading the answers")
    page.resize(1240, 680)
    return page


def disagreements(face: Face) -> HistoryPage:
    """Open the tab by its key."""
    page = page_of(face)
    QTest.keyClick(page, Qt.Key.Key_D, Qt.KeyboardModifier.AltModifier)
    assert page.filter.on_disagreements
    return page


def judge(face: Face, generation: int, left: dict[int, float], times: int = 1) -> None:
    """Answer the request with this number as the reward job does. left: P[left preferred] by answer"""
    reward = face.engine["reward"]
    face.wait_until(lambda: len(reward.got(PredictionsRequested)) == times)
    token = reward.got(PredictionsRequested)[-1].token
    ids, probabilities = np.array([*left], np.int64), np.array([*left.values()], np.float32)
    reward.play(AnswersPredicted(token, generation, ids, probabilities))


def listed(page: HistoryPage) -> list[int]:
    return [page.model.index(row).data(ROW).id for row in range(page.model.rowCount())]


def row_of(page: HistoryPage, key: int) -> PreferenceSummary:
    """Return the answer with that number, listed or not."""
    return next(row for row in page.model.rows if row.id == key)


def choose(face: Face, key: int) -> None:
    """Click the answer with that number, and wait until it is shown.

    On a busy machine an immediate second click would come before the page is laid out, and have no effect.
    """
    page = face.window.history_commands.page
    index = page.model.index_of(key)
    page.list.scrollTo(index)
    QTest.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=page.list.visualRect(index).center())
    face.wait_until(lambda: page.pane.row is not None and page.pane.row.id == key)


def playing(page: HistoryPage, key: int) -> bool:
    shown = page.pane.clips.shown
    chosen = page.pane.row is not None and page.pane.row.id == key
    return chosen and shown is not None and page.pane.clips.clock.playing


def stored(face: Face, key: int) -> PreferenceSummary:
    with closing(face.controller.session.store()) as store:
        return store.row(key)


def damage(face: Face, *keys: int) -> None:
    """Truncate the files of these answers."""
    for key in keys:
        os.truncate(face.folder / "preferences" / f"{key:08d}.safetensors", 50)
