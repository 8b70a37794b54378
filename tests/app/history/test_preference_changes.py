"""Answers changed on the history page, and answers that can't be changed or read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest

from app.history.preference_model import TROUBLE
from app.session.controller import State
from core.config import Config, replaced
from core.errors import UserError
from core.events import PreferenceChanged
from core.preferences.store import PreferenceStore
from core.session.session import Session
from core.types import Choice
from tests.app.fakes import Face, make_query
from tests.app.history_page_driver import choose, damage, listed, page_of, playing, row_of, stored
from tests.app.tape import flashed
from tests.core.builders import raising


def test_a_key_changes_the_selected_answer_permanently(mixed: Face) -> None:
    page = page_of(mixed)
    choose(mixed, 2)
    mixed.wait_until(lambda: playing(page, 2))
    QTest.keyClick(page.list, Qt.Key.Key_Return)
    mixed.wait_until(page.pane.hasFocus)
    QTest.keyClick(page.pane, Qt.Key.Key_Up)
    mixed.wait_until(lambda: flashed(page.pane.clips) == Choice.TIE)
    mixed.wait_until(lambda: row_of(page, 2).choice == Choice.TIE)
    assert page.pane.choices[Choice.TIE].isChecked()
    assert "before: Right is better" in page.pane.note.text()
    found = stored(mixed, 2)
    assert found.choice == Choice.TIE and found.changes == ((Choice.RIGHT, 6),)
    for name in ("reward", "rollout"):
        process = mixed.engine[name]
        mixed.wait_until(lambda process=process: len(process.got(PreferenceChanged)) == 1)
        (heard,) = process.got(PreferenceChanged)
        assert (heard.preference.id, heard.preference.choice) == (2, Choice.TIE)
    assert not mixed.engine["policy"].got(PreferenceChanged)
    assert mixed.controller.progress.labels == 6
    mixed.wait_until(lambda: flashed(page.pane.clips) is None)  # nothing stays over the clips


def test_the_last_of_several_quick_presses_counts_and_a_repeated_key_is_one_change(mixed: Face) -> None:
    page = page_of(mixed)
    choose(mixed, 2)
    page.pane.setFocus()
    QTest.keyClick(page.pane, Qt.Key.Key_Left)
    QTest.keyClick(page.pane, Qt.Key.Key_Right)
    mixed.wait_until(lambda: len(row_of(page, 2).changes) == 2)
    assert stored(mixed, 2).choice == row_of(page, 2).choice == Choice.RIGHT
    choose(mixed, 1)
    page.pane.setFocus()
    QTest.keyClick(page.pane, Qt.Key.Key_Right)
    QTest.keyClick(page.pane, Qt.Key.Key_Right)
    mixed.wait_until(lambda: row_of(page, 1).choice == Choice.RIGHT)
    QTest.keyClick(page.pane, Qt.Key.Key_Up)
    mixed.wait_until(lambda: row_of(page, 1).choice == Choice.TIE)
    assert [choice for choice, _ in stored(mixed, 1).changes] == [Choice.LEFT, Choice.RIGHT]


def test_arrows_in_the_list_change_nothing(mixed: Face) -> None:
    page = page_of(mixed)
    choose(mixed, 2)
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down):
        QTest.keyClick(page.list, key)
    mixed.wait_until(lambda: playing(page, 2))
    QTest.keyClick(page.list, Qt.Key.Key_Return)
    QTest.keyClick(page.pane, Qt.Key.Key_Escape)
    mixed.wait_until(page.list.hasFocus)
    assert all(not stored(mixed, key).changes for key in range(1, 7))


@pytest.mark.parametrize("state", ["withdrawn", "repeat"])
def test_undone_and_repeated_answers_cannot_be_changed(open_face: Callable[..., Face], state: str) -> None:
    face = open_face()
    with closing(face.controller.session.store()) as store:
        first = store.add(make_query(), Choice.LEFT, "human")
        pair = store.answer(first.id).query
        store.add(replace(pair, left=pair.right, right=pair.left, repeats=1), Choice.LEFT, "human")
        if state == "withdrawn":
            store.undo()
    page = page_of(face)
    page.filter.withdrawn_too.setChecked(True)
    choose(face, 2)
    assert not any(made.isEnabled() for made in page.pane.choices.values())
    assert ("undone" if state == "withdrawn" else "repeats answer 1") in page.pane.note.text()
    page.pane.setFocus()
    QTest.keyClick(page.pane, Qt.Key.Key_Right)
    face.wait_until(lambda: playing(page, 2))
    assert stored(face, 2).choice == Choice.LEFT


def test_a_change_that_cannot_be_saved_has_no_effect(mixed: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(mixed)
    full = UserError("The disk is full: make room, then answer again.")
    monkeypatch.setattr(PreferenceStore, "change", raising(full))
    choose(mixed, 2)
    QTest.mouseClick(page.pane.choices[Choice.LEFT], Qt.MouseButton.LeftButton)
    mixed.wait_until(lambda: page.pane.note.text() == "The disk is full: make room, then answer again.")
    assert page.pane.choices[Choice.RIGHT].isChecked() and not page.pane.choices[Choice.LEFT].isChecked()
    assert not mixed.engine["reward"].got(PreferenceChanged)


def test_an_answer_without_pictures_is_explained(open_face: Callable[..., Face], tmp_path: Path) -> None:
    folder, asked = tmp_path / "session", make_query()
    left, right = (replace(side, states=side.states[:, :0]) for side in (asked.left, asked.right))
    session = Session.create(folder, replaced(Config(), teacher="human"))
    with closing(session.store()) as store:
        store.add(replace(asked, left=left, right=right), Choice.LEFT, "oracle")
    session.close()
    face = open_face(folder)
    page = page_of(face)
    sentence = "Answer 1 has no pictures: it was given without a window."
    face.wait_until(lambda: page.model.index_of(1).data(TROUBLE) == sentence)
    assert page.pane.empty.headline.text() == "This answer can't be shown"
    face.stop()
    assert page.pane.empty.detail.text() == sentence
    face.window.pause_action.trigger()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert page.pane.empty.detail.text() == sentence


def test_an_unreadable_answer_shows_a_sentence_and_affects_no_other(mixed: Face) -> None:
    damage(mixed, 4)
    page = page_of(mixed)
    assert listed(page) == [6, 5, 4, 3, 2, 1]
    mixed.wait_until(lambda: "Answer 4 can't be read" in page.model.index_of(4).data(TROUBLE))
    shown = page.model.index_of(4).data(Qt.ItemDataRole.ToolTipRole)
    assert shown.startswith("<p>Answer 4 can&#x27;t be read")  # escaped, so never interpreted as HTML
    assert [page.model.index_of(key).data(TROUBLE) for key in (6, 3, 2)] == [""] * 3
    choose(mixed, 4)
    assert page.pane.empty.headline.text() == "This answer can't be shown"
    assert not any(made.isEnabled() for made in page.pane.choices.values())
    QCoreApplication.processEvents()  # the text is laid out again
    choose(mixed, 3)
    mixed.wait_until(lambda: playing(page, 3))
    QTest.mouseClick(page.pane.choices[Choice.LEFT], Qt.MouseButton.LeftButton)
    mixed.wait_until(lambda: row_of(page, 3).choice == Choice.LEFT)


def test_a_damaged_answer_can_be_changed_once_its_file_is_put_back(mixed: Face) -> None:
    file = mixed.folder / "preferences" / "00000004.safetensors"
    content = file.read_bytes()
    damage(mixed, 4)
    page = page_of(mixed)
    choose(mixed, 4)
    mixed.wait_until(lambda: page.pane.empty.headline.text() == "This answer can't be shown")
    mixed.stop()
    file.write_bytes(content)
    mixed.window.pause_action.trigger()
    mixed.wait_until(lambda: playing(page, 4))
    assert page.pane.choices[Choice.TIE].isEnabled()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("open_meanwhile", [False, True])
def test_answers_of_a_restored_copy_are_listed_once_training_has_them(mixed: Face, open_meanwhile: bool) -> None:
    page = page_of(mixed)
    mixed.wait_until(lambda: listed(page) == [6, 5, 4, 3, 2, 1])
    if not open_meanwhile:
        page.close()
    mixed.stop()
    answers, copy = mixed.folder / "preferences", mixed.folder / "copy"
    shutil.copytree(answers, copy)
    shutil.rmtree(answers)
    copy.rename(answers)
    mixed.window.pause_action.trigger()
    mixed.wait_until(lambda: mixed.controller.state == State.RUNNING)
    mixed.activate()
    mixed.answer_another()
    if not open_meanwhile:
        page_of(mixed)
    mixed.wait_until(lambda: listed(page) == [7, 6, 5, 4, 3, 2, 1])
    choose(mixed, 2)
    mixed.wait_until(lambda: playing(page, 2))


def test_an_unreadable_store_is_reported_on_the_page(mixed: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PreferenceStore, "rows", raising(UserError("The disk has failed: check it.")))
    page = page_of(mixed)
    mixed.wait_until(lambda: page.empty.headline.text() == "The answers can't be read")
    page.filter.choice.setCurrentIndex(1)
    assert page.empty.detail.text() == "The disk has failed: check it."
    monkeypatch.undo()
    page.filter.choice.setCurrentIndex(0)
    mixed.activate()
    mixed.answer_another()
    mixed.wait_until(lambda: listed(page) == [7, 6, 5, 4, 3, 2, 1])
    assert page.stack.currentWidget() is page.list
