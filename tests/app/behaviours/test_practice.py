"""Practice pairs on the page of behaviours, answered by real keys and clicks."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.behaviours.page import BehaviourPage
from app.behaviours.practice import Practice
from app.keys.commands import Command
from app.labelling.pair_queue import CLIP_SIZE, LARGE_CLIP_SIZE, Pair
from core.types import Choice
from tests.app.behaviour_page_driver import fill, opened
from tests.app.fakes import make_frames, make_query
from tests.app.start_page_driver import Page
from tests.app.tape import flashed

KEYS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left)
CHOICES = [Choice.LEFT, Choice.RIGHT, Choice.TIE, Choice.CANT_TELL, Choice.LEFT]


def practised(page: Page) -> BehaviourPage:
    """The page after five practice pairs of the Hopper."""
    made = opened(page)
    assert not made.practise.isEnabled()
    fill(made)
    made.practise.click()
    practice = made.practice
    for number, key in enumerate(KEYS, 1):
        page.wait_until(lambda: practice.clips.shown is not None and not practice.flash_timer.isActive())
        assert practice.count.text() == f"Practice pair {number} of 5"
        assert practice.instruction.text() == made.draft.instruction
        QTest.keyClick(practice, key)
        assert flashed(practice.clips) is not None
        QTest.keyClick(practice, key)  # no answer while the tick is shown
    page.wait_until(lambda: practice.count.text() == "Practice finished")
    assert practice.keep.isVisible() and flashed(practice.clips) is None
    return made


def test_pairs_are_answered_and_answers_undone_by_mouse(page: Page) -> None:
    made = opened(page)
    fill(made)
    made.practise.click()
    practice, hints = made.practice, made.practice.key_hints.buttons
    page.wait_until(lambda: practice.clips.shown is not None)
    assert hints[Choice.LEFT].text() == "←  Left is better" and not hints[Command.UNDO].isEnabled()
    for number, choice in enumerate(CHOICES, 1):
        page.wait_until(lambda: practice.clips.shown is not None and not practice.flash_timer.isActive())
        QTest.mouseClick(hints[choice], Qt.MouseButton.LeftButton)
        assert len(practice.answers) == number and hints[Command.UNDO].isEnabled()
    page.wait_until(lambda: practice.count.text() == "Practice finished")
    assert [choice for _, choice in practice.answers] == CHOICES and practice.keep.hasFocus()
    assert not any(hints[choice].isEnabled() for choice in Choice)
    QTest.mouseClick(hints[Command.UNDO], Qt.MouseButton.LeftButton)
    assert len(practice.answers) == 4 and hints[Choice.LEFT].isEnabled() and practice.hasFocus()


def test_a_failure_stays_on_screen_once_no_pair_is_left(qtbot: QtBot) -> None:
    practice = Practice()
    qtbot.addWidget(practice)
    practice.show()
    practice.begin("Choose the higher jump.")
    practice.add(Pair(make_query(), make_frames(), make_frames()))
    practice.refuse("The robot can't be rendered: no memory.")
    QTest.mouseClick(practice.key_hints.buttons[Choice.LEFT], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: practice.clips.shown is None)
    assert practice.hint.text() == "The robot can't be rendered: no memory."
    practice.begin("Choose the higher jump.")
    assert practice.hint.text() == "" and practice.clips.left.placeholder == "Loading the next pair…"


def test_practice_clips_have_the_keys_of_a_session_except_that_space_presses_a_focused_button(page: Page) -> None:
    made = opened(page)
    fill(made)
    practice, clock = made.practice, made.practice.clips.clock
    for _ in range(2):  # the second time after practising again
        made.practise.click()
        page.wait_until(lambda: practice.clips.shown is not None)
        for focused in (practice, practice.clips.left):
            focused.setFocus()
            for playing in (False, True):
                page.press(Qt.Key.Key_Space)
                assert clock.playing == playing
            page.press(Qt.Key.Key_Period)
            page.press(Qt.Key.Key_2)
            assert not clock.playing and clock.speed == 0.5
            page.press(Qt.Key.Key_R)
            assert clock.playing
        practice.back.setFocus()
        page.press(Qt.Key.Key_Space)
        assert made.maker.isVisible()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kept", [True, False])
def test_five_practice_answers_are_kept_only_on_request(page: Page, kept: bool) -> None:
    made = practised(page)
    chosen: QPushButton = made.practice.keep if kept else made.practice.without
    assert made.practice.keep.hasFocus()
    chosen.setFocus()
    page.press(Qt.Key.Key_Return)
    page.wait_until(lambda: bool(page.opened))
    with closing(page.opened[0].store()) as store:
        assert [answer.choice for answer in store.each()] == (CHOICES if kept else [])
        assert {answer.labeller for answer in store.each()} <= {"human"}
    page.window.hide()  # as a session's window takes its place
    assert made.practice.answers == ()  # their pictures take much memory


def test_the_robot_and_its_practice_pairs_are_rendered_larger_where_they_are_shown_larger(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(page)
    fill(made)
    assert page.scenes[-1].size == CLIP_SIZE
    monkeypatch.setattr(made.view, "devicePixelRatioF", lambda: 2.0)
    made.practise.click()
    page.wait_until(lambda: made.practice.clips.shown is not None)
    page.window.resize(1900, 1060)  # the size of the tests' screen
    page.wait_until(lambda: made.practice.clips.left.width() > 640)
    assert made.practice.clips.shown is not None  # its pairs stay on screen
    QTest.keyClick(made.practice, Qt.Key.Key_Escape)
    made.practise.click()
    page.wait_until(lambda: made.practice.clips.shown is not None)
    QTest.keyClick(made.practice, Qt.Key.Key_Escape)
    made.clips.length.setValue(made.clips.length.maximum())  # clips that would take gigabytes
    made.practise.click()
    page.wait_until(lambda: made.practice.clips.shown is not None)
    assert [event.size for event in page.practices] == [CLIP_SIZE, LARGE_CLIP_SIZE, CLIP_SIZE]
    QTest.keyClick(made.practice, Qt.Key.Key_Escape)
    page.wait_until(lambda: page.scenes[-1].size == LARGE_CLIP_SIZE)
    monkeypatch.undo()
    page.window.resize(1280, 720)
    page.wait_until(lambda: page.scenes[-1].size == CLIP_SIZE)


def test_the_undo_key_takes_an_answer_back(page: Page) -> None:
    practice = practised(page).practice
    last = practice.answers[-1][0]
    QTest.keyClick(practice, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert len(practice.answers) == 4 and practice.clips.shown.query is last and practice.clips.isVisible()
    QTest.keyClick(practice, Qt.Key.Key_Backspace)
    before = practice.clips.shown.query
    QTest.keyClick(practice, Qt.Key.Key_Left)
    page.wait_until(lambda: practice.clips.shown is not None and practice.clips.shown.query is last)
    QTest.keyClick(practice, Qt.Key.Key_Right)
    page.wait_until(lambda: practice.count.text() == "Practice finished")
    assert practice.answers[3:] == ((before, Choice.LEFT), (last, Choice.RIGHT))


def test_the_keep_button_keeps_the_focus_after_a_late_answer(page: Page) -> None:
    practice = practised(page).practice
    for key in KEYS:
        QTest.keyClick(QApplication.focusWidget(), key)
        assert practice.keep.hasFocus()
    assert [choice for _, choice in practice.answers] == CHOICES


def test_a_held_key_takes_one_answer_back(page: Page) -> None:
    practice = practised(page).practice
    for repeated in (False, True, True):
        QTest.simulateEvent(practice, True, Qt.Key.Key_Backspace, Qt.KeyboardModifier.NoModifier, "", repeated)
    assert len(practice.answers) == 4


def test_escape_returns_to_the_page_and_discards_the_answers(page: Page) -> None:
    made = opened(page)
    fill(made)
    made.practise.click()
    page.wait_until(lambda: made.practice.clips.shown is not None)
    QTest.keyClick(made.practice, Qt.Key.Key_Left)
    QTest.keyClick(made.practice, Qt.Key.Key_Escape)
    assert made.stack.currentWidget() is made.maker and made.title.text() == "Kneeling"
    made.practise.click()
    assert made.practice.answers == () and made.practice.count.text() == "Practice pair 1 of 5"
    QTest.keyClick(made.practice, Qt.Key.Key_Escape)
    made.start.click()
    page.wait_until(lambda: bool(page.opened))
    assert page.opened[0].labels() == 0


def test_five_answers_outlast_a_change_of_the_sentence_but_not_of_the_robots_start(page: Page) -> None:
    made = practised(page)
    practice, answers = made.practice, made.practice.answers
    QTest.keyClick(practice, Qt.Key.Key_Escape)
    made.instruction.setFocus()
    QTest.keyClicks(made.instruction, " Or so.")
    made.practise.click()
    assert practice.answers == answers and practice.keep.isVisible() and practice.clips.shown is not None
    QTest.keyClick(practice, Qt.Key.Key_Escape)
    made.clips.start.setFocus()
    QTest.keyClick(made.clips.start, Qt.Key.Key_Down)
    made.practise.click()
    assert practice.answers == () and not practice.keep.isVisible()
    page.wait_until(lambda: practice.clips.shown is not None)


def test_a_session_begins_with_the_answers_of_another_one_of_the_same_robot(page: Page) -> None:
    made = practised(page)
    made.practice.keep.click()
    page.wait_until(lambda: bool(page.opened))
    page.opened[0].close()
    page.window.hide()
    page.window.show()
    page.wait_until(lambda: page.window.sessions.list.current is not None)
    page.window.show_new_behaviour()
    fill(made, "Crouching")
    begin = made.begin_from
    page.wait_until(begin.isVisible)
    assert begin.chosen is None
    page.wait_until(lambda: len({box.mapTo(made, QPoint()).x() for box in (begin.source, made.clips.start)}) == 1)
    assert begin.source.width() == made.clips.start.width()
    begin.source.setFocus()
    QTest.keyClick(begin.source, Qt.Key.Key_Down)
    for name, box in begin.parts.items():
        if (name == "answers") != box.isChecked():
            QTest.keyClick(box, Qt.Key.Key_Space)
    taken = page.opened[0].folder, frozenset({"answers"})
    assert begin.chosen == taken
    task = page.opened[0].config.task
    begin.set_sessions({Path(str(taken[0])): task, taken[0].with_name("other"): task})  # listed again
    assert begin.chosen == taken
    made.robots.cards["walker"].click()
    assert not begin.isVisible()
    made.robots.cards["hopper"].click()
    begin.source.setCurrentIndex(1)
    made.start.click()
    page.wait_until(lambda: len(page.opened) == 2)
    with closing(page.opened[1].store()) as store:
        assert [answer.choice for answer in store.each()] == CHOICES
    begin.reset()
    begin.source.setCurrentIndex(1)
    assert begin.chosen == (taken[0], frozenset({"reward", "policy"}))  # the next session begins with the usual parts
