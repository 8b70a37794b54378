"""Answers that the predictor doubts: asked for, listed, looked at again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.history.preference_model import AGAINST
from app.session.controller import State
from app.windows.history import HistoryPage
from core.events import AnswersJudged, JudgementRequested
from core.types import Choice
from tests.app.fakes import Face
from tests.app.history_page_driver import MIXED, choose, listed, page_of, playing

Picture = Callable[[QWidget, str], None]


def look(page: HistoryPage) -> None:
    """Opens the tab by its key."""
    QTest.keyClick(page, Qt.Key.Key_D, Qt.KeyboardModifier.AltModifier)
    assert page.filter.on_doubted


def say(face: Face, generation: int, left: dict[int, float], times: int = 1) -> None:
    """What the reward job answers to the request that has come."""
    reward = face.engine["reward"]
    face.qtbot.waitUntil(lambda: len(reward.got(JudgementRequested)) == times)
    token = reward.got(JudgementRequested)[-1].token
    ids, preference_probabilities = np.array([*left], np.int64), np.array([*left.values()], np.float32)
    reward.play(AnswersJudged(token, generation, ids, preference_probabilities))


def doubting_the_first(face: Face) -> HistoryPage:
    """The page, on which answer 1 is listed as doubted."""
    page = page_of(face)
    look(page)
    say(face, 1, {1: 0.1})
    face.qtbot.waitUntil(lambda: listed(page) == [1])
    return page


def test_the_doubted_are_listed_the_most_doubted_first(
    opened: Callable[..., Face],
    qtbot: QtBot,
    picture: Picture,
) -> None:
    face = opened(MIXED)
    page = page_of(face)
    look(page)
    assert page.empty.headline.text() == "Comparing your answers with the reward model"
    say(face, 12, {1: 0.03, 2: 0.4, 3: 0.9, 5: 0.3, 6: 0.95})  # left, right, tie, left, right
    qtbot.waitUntil(lambda: listed(page) == [1, 6, 3, 5])
    against = [round(page.model.index(row).data(AGAINST), 3) for row in range(4)]
    assert against == [0.97, 0.95, 0.8, 0.7]
    told = page.filter.judgement.text()
    assert told.startswith("4 of 5 answers are doubted by the predictor of generation 12, computed at ")
    texts = [page.model.index(row).data() for row in range(4)]
    assert texts[0].endswith("the predictor gives the other side 97%")
    assert texts[2].endswith("the predictor gives one side 90%")
    choose(page, 6)
    qtbot.waitUntil(lambda: playing(page, 6))
    picture(page, "history-disagreements")


def test_before_the_first_predictor_it_says_so(
    opened: Callable[..., Face],
    qtbot: QtBot,
    picture: Picture,
) -> None:
    face = opened(MIXED)
    page = page_of(face)
    look(page)
    say(face, 0, {})
    qtbot.waitUntil(lambda: page.empty.headline.text() == "No reward model yet")
    assert page.empty.isVisible() and page.filter.judgement.text() == ""
    picture(page, "history-no-predictor")


def test_where_nothing_is_doubted_it_says_so(opened: Callable[..., Face], qtbot: QtBot) -> None:
    face = opened(MIXED)
    page = page_of(face)
    look(page)
    say(face, 3, {1: 0.9, 2: 0.2})
    qtbot.waitUntil(lambda: page.empty.headline.text() == "Nothing to review")
    assert page.filter.judgement.text().startswith("0 of 2 answers are doubted by the predictor of generation 3")


def test_looking_again_asks_anew_and_an_older_answer_is_dropped(
    opened: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = opened(MIXED)
    page = doubting_the_first(face)
    QTest.mouseClick(page.filter.again, Qt.MouseButton.LeftButton)
    reward = face.engine["reward"]
    qtbot.waitUntil(lambda: len(reward.got(JudgementRequested)) == 2)
    first = reward.got(JudgementRequested)[0].token
    reward.play(AnswersJudged(first, 9, np.array([2]), np.array([0.9], np.float32)))
    say(face, 2, {5: 0.1}, times=2)
    qtbot.waitUntil(lambda: listed(page) == [5])
    assert "of generation 2," in page.filter.judgement.text()


def test_a_changed_answer_stays_in_sight_and_is_weighed_anew_when_asked(
    opened: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = opened(MIXED)
    page = page_of(face)
    look(page)
    say(face, 1, {1: 0.1, 5: 0.2})
    qtbot.waitUntil(lambda: listed(page) == [1, 5])
    choose(page, 1)
    QTest.mouseClick(page.pane.choices[Choice.RIGHT], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.model.row(1).choice == Choice.RIGHT)
    assert listed(page) == [1, 5]
    QTest.mouseClick(page.filter.again, Qt.MouseButton.LeftButton)
    say(face, 2, {1: 0.1, 5: 0.2}, times=2)
    qtbot.waitUntil(lambda: listed(page) == [5])


def test_while_training_is_paused_it_says_when_the_answer_comes(
    opened: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = opened(MIXED)
    page = page_of(face)
    face.window.pause_action.trigger()
    assert face.controller.state == State.PAUSED
    look(page)
    assert page.empty.detail.text() == "The result appears when training continues."
    asked = len(face.engine["reward"].got(JudgementRequested))
    face.window.pause_action.trigger()
    qtbot.waitUntil(lambda: len(face.engine["reward"].got(JudgementRequested)) > asked)
    assert page.empty.detail.text() == "This takes a moment."


def test_what_was_asked_while_the_predictor_was_down_is_answered_once_it_is_back(
    opened: Callable[..., Face],
    qtbot: QtBot,
) -> None:
    face = opened(MIXED)
    page = doubting_the_first(face)
    with qtbot.waitSignal(face.controller.job_failed):
        face.engine["reward"].die()
    QTest.mouseClick(page.filter.again, Qt.MouseButton.LeftButton)
    QTest.mouseClick(face.window.banner.restart, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    say(face, 2, {5: 0.1})  # the new one, which has been asked once
    qtbot.waitUntil(lambda: listed(page) == [5])
