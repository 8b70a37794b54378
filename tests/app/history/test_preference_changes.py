"""Answers changed on the history page, and answers that can't be changed or read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.history.preference_model import TROUBLE
from core.errors import UserError
from core.events import PreferenceChanged
from core.preferences.store import PreferenceStore
from core.types import Choice, Preference
from tests.app.fakes import Face, make_query
from tests.app.history_page_driver import MIXED, choose, damage, listed, page_of, playing, stored

Picture = Callable[[QWidget, str], None]


def test_a_key_changes_the_chosen_answer_for_good(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face, choice = opened(MIXED), Choice.TIE
    page = page_of(face)
    choose(page, 2)
    qtbot.waitUntil(lambda: playing(page, 2))
    QTest.keyClick(page.list, Qt.Key.Key_Return)
    qtbot.waitUntil(page.pane.hasFocus)
    QTest.keyClick(page.pane, Qt.Key.Key_Up)
    qtbot.waitUntil(lambda: page.model.row(2).choice == choice)
    assert page.pane.clips.flashed == choice and page.pane.choices[choice].isChecked()
    assert "before: Right is better" in page.pane.note.text()
    found = stored(face, 2)
    assert found.choice == choice and found.changes == ((Choice.RIGHT, 6),)
    for name in ("reward", "rollout"):
        process = face.engine[name]
        qtbot.waitUntil(lambda process=process: len(process.got(PreferenceChanged)) == 1)
        (heard,) = process.got(PreferenceChanged)
        assert (heard.preference.id, heard.preference.choice) == (2, choice)
    assert not face.engine["policy"].got(PreferenceChanged)
    assert face.controller.progress.labels == 6


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


@pytest.mark.parametrize("state", ["withdrawn", "repeat"])
def test_what_does_not_count_can_not_be_changed(
    open_face: Callable[..., Face], tmp_path: Path, qtbot: QtBot, state: str
) -> None:
    face = open_face()
    with closing(face.controller.session.store()) as store:
        first = store.add(make_query(), Choice.LEFT, "human")
        pair = store.answer(first.id).query
        store.add(replace(pair, left=pair.right, right=pair.left, repeats=1), Choice.LEFT, "human")
        if state == "withdrawn":
            store.undo()
    page = page_of(face)
    page.filter.withdrawn_too.setChecked(True)
    choose(page, 2)
    assert not any(made.isEnabled() for made in page.pane.choices.values())
    assert ("undone" if state == "withdrawn" else "repeats number 1") in page.pane.note.text()
    page.pane.setFocus()
    QTest.keyClick(page.pane, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: playing(page, 2))
    assert stored(face, 2).choice == Choice.LEFT


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


def test_what_can_not_be_read_shows_a_sentence_and_spoils_nothing(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    damage(face, 4)
    page = page_of(face)
    assert listed(page) == [6, 5, 4, 3, 2, 1]
    qtbot.waitUntil(lambda: "Answer 4 can't be read" in page.model.index_of(4).data(TROUBLE))
    shown = page.model.index_of(4).data(Qt.ItemDataRole.ToolTipRole)
    assert shown.startswith("<p>Answer 4 can&#x27;t be read")  # escaped: never taken for HTML
    assert [page.model.index_of(key).data(TROUBLE) for key in (6, 3, 2)] == [""] * 3
    choose(page, 4)
    assert page.pane.empty.headline.text() == "This answer can't be shown"
    assert not any(made.isEnabled() for made in page.pane.choices.values())
    QCoreApplication.processEvents()  # the text is laid out again
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
