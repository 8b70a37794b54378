"""The answer history in a real window, by keys and clicks."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.history.preference_model import STILLS
from app.keys.commands import Command
from core.service_events import ClipsRequested
from core.types import Choice
from tests.app.fakes import Face, Picture, make_query
from tests.app.history_page_driver import choose, listed, page_of, playing, row_of, stored


def test_all_answers_are_listed_the_newest_first(mixed: Face, picture: Picture) -> None:
    page = page_of(mixed)
    assert listed(page) == [6, 5, 4, 3, 2, 1]
    assert page.count.text() == "6 answers shown"
    assert [index.row() for index in page.list.selectionModel().selectedIndexes()] == [0]
    assert page.model.index(0).data().startswith("Answer 6: Right is better, computer, ")
    mixed.wait_until(lambda: sum(page.model.index(row).data(STILLS) is not None for row in range(6)) >= 5)
    picture(page, "history-list")


def test_a_selected_answer_plays_both_clips_in_sync(mixed: Face, picture: Picture) -> None:
    page = page_of(mixed)
    QTest.keyClick(page.list, Qt.Key.Key_Down)
    mixed.wait_until(lambda: playing(page, 5))
    (drawn,) = [e for e in mixed.engine["clips"].got(ClipsRequested) if e.fps == 30]
    query = mixed.answers()[4].query
    assert [s.id for s in drawn.segments] == [query.left.id, query.right.id]
    assert (drawn.segments[0].states == query.left.states).all()
    QTest.keyClick(page.list, Qt.Key.Key_Space)
    assert not page.pane.clips.clock.playing
    QTest.keyClick(page.list, Qt.Key.Key_Space)
    assert page.pane.clips.clock.playing
    picture(page, "history-playing")


def test_labelling_continues_while_the_history_is_open(mixed: Face) -> None:
    page = page_of(mixed)
    choose(mixed, 3)
    mixed.activate()
    query = make_query()
    mixed.offer(query)
    mixed.press(Qt.Key.Key_Right)
    mixed.wait_until(lambda: listed(page) == [7, 6, 5, 4, 3, 2, 1])
    assert page.list.current and page.list.current.id == 3
    mixed.press(Qt.Key.Key_Backspace)
    mixed.wait_until(lambda: row_of(page, 7).withdrawn)
    assert not stored(mixed, 7).changes


def test_the_filters_select_by_choice_and_labeller(mixed: Face) -> None:
    mixed.offer(make_query())
    mixed.press(Qt.Key.Key_Left)
    mixed.wait_until(lambda: mixed.controller.progress.labels == 7)
    mixed.press(Qt.Key.Key_Backspace)
    mixed.wait_until(lambda: mixed.controller.progress.labels == 6)
    page = page_of(mixed)
    assert listed(page) == [6, 5, 4, 3, 2, 1]
    QTest.mouseClick(
        page.filter.withdrawn_too, Qt.MouseButton.LeftButton, pos=page.filter.withdrawn_too.rect().center()
    )
    assert listed(page) == [7, 6, 5, 4, 3, 2, 1]
    page.filter.choice.setFocus()
    QTest.keyClick(page.filter.choice, Qt.Key.Key_Down)  # left
    assert listed(page) == [7, 5, 1]
    mixed.wait_until(lambda: all(page.model.index(row).data(STILLS) for row in range(3)))
    page.filter.labeller.setFocus()
    QTest.keyClick(page.filter.labeller, Qt.Key.Key_Down)  # human
    assert listed(page) == [7, 1]
    choose(mixed, 1)
    QTest.mouseClick(page.pane.choices[Choice.TIE], Qt.MouseButton.LeftButton)
    mixed.wait_until(lambda: row_of(page, 1).choice == Choice.TIE)
    assert listed(page) == [7, 1]  # the changed answer does not disappear at once
    page.filter.choice.setCurrentIndex(0)
    page.filter.changed_only.setChecked(True)
    assert listed(page) == [1]
    page.filter.choice.setCurrentIndex(2)
    assert listed(page) == [] and page.empty.headline.text() == "No matching answers"


def test_the_history_explains_why_nothing_plays_while_the_session_is_stopped(mixed: Face) -> None:
    mixed.stop()
    page = page_of(mixed)
    choose(mixed, 2)
    mixed.wait_until(lambda: "press Start" in page.pane.empty.detail.text())
    QTest.mouseClick(page.pane.choices[Choice.TIE], Qt.MouseButton.LeftButton)
    mixed.wait_until(lambda: row_of(page, 2).choice == Choice.TIE)
    mixed.window.pause_action.trigger()
    mixed.wait_until(lambda: playing(page, 2))


def test_the_hint_on_repeated_pairs_is_shown_only_while_none_are_repeated(mixed: Face) -> None:
    page = page_of(mixed)
    action = mixed.window.commands[Command.REPEATS]
    assert not action.isChecked() and "To repeat some pairs" in page.consistency.comment.text()
    with mixed.wait_signal(mixed.controller.succeeded):
        action.trigger()
    assert "To repeat some pairs" not in page.consistency.comment.text()


def test_rereading_the_rows_when_training_starts_keeps_the_focus_on_an_answer(mixed: Face) -> None:
    page = page_of(mixed)
    choose(mixed, 3)
    page.pane.setFocus()
    with mixed.wait_signal(mixed.controller.preference_history.rows_read):
        mixed.controller.preference_history.reopen()
    assert page.pane.hasFocus() and page.list.current and page.list.current.id == 3
