"""Answers that the predictors contradict: requested, listed, changed."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.history.preference_model import AGAINST
from core.events import AnswersPredicted, PredictionsRequested, Waited
from core.types import Choice
from tests.app.fakes import Face
from tests.app.history_page_driver import choose, disagreements, judge, listed, page_of, playing, row_of


def test_the_strongest_disagreements_are_listed_first(mixed: Face) -> None:
    page = disagreements(mixed)
    assert page.empty.isVisible()
    judge(mixed, 12, {1: 0.03, 2: 0.4, 3: 0.9, 5: 0.3, 6: 0.95})  # left, right, tie, left, right
    mixed.wait_until(lambda: listed(page) == [1, 6, 3, 5])
    against = [round(page.model.index(row).data(AGAINST), 3) for row in range(4)]
    assert against == [0.97, 0.95, 0.8, 0.7]
    text = page.filter.judgement.text()
    assert text.startswith("The reward model disagrees with 4 of 5 answers (fit 12, computed at ")
    texts = [page.model.index(row).data() for row in range(4)]
    assert texts[0].endswith("the reward model gives the other side 97%")
    assert texts[2].endswith("the reward model gives one side 90%")
    choose(mixed, 6)
    mixed.wait_until(lambda: playing(page, 6))


@pytest.mark.parametrize(
    ("generation", "left", "headline", "text"),
    [
        (0, {}, "No reward model yet", ""),
        (3, {1: 0.9, 2: 0.2}, "Nothing to review", "disagrees with 0 of 2 answers (fit 3"),
    ],
)
def test_an_empty_list_of_disagreements_states_its_reason(
    mixed: Face, generation: int, left: dict[int, float], headline: str, text: str
) -> None:
    page = disagreements(mixed)
    judge(mixed, generation, left)
    mixed.wait_until(lambda: page.empty.headline.text() == headline)
    assert page.empty.isVisible() and text in page.filter.judgement.text()


def test_a_refresh_drops_older_replies_and_changed_answers(
    mixed: Face,
) -> None:
    page, reward = disagreements(mixed), mixed.engine["reward"]
    judge(mixed, 1, {1: 0.1, 5: 0.2})
    mixed.wait_until(lambda: listed(page) == [1, 5])
    choose(mixed, 1)
    QTest.mouseClick(page.pane.choices[Choice.RIGHT], Qt.MouseButton.LeftButton)
    mixed.wait_until(lambda: row_of(page, 1).choice == Choice.RIGHT)
    assert page.model.index_of(1).data(AGAINST) == pytest.approx(0.1)
    assert listed(page) == [1, 5]  # listed until the list is refreshed
    QTest.mouseClick(page.pane.choices[Choice.CANT_TELL], Qt.MouseButton.LeftButton)
    mixed.wait_until(lambda: row_of(page, 1).choice == Choice.CANT_TELL)
    assert "reward model gives" not in page.model.index_of(1).data()
    for _ in range(2):
        QTest.mouseClick(page.filter.again, Qt.MouseButton.LeftButton)
    mixed.wait_until(lambda: len(reward.got(PredictionsRequested)) == 3)
    judge(mixed, 2, {1: 0.1, 5: 0.2}, times=3)
    mixed.wait_until(lambda: listed(page) == [5])
    older = reward.got(PredictionsRequested)[1].token
    reward.play(AnswersPredicted(older, 9, np.array([2]), np.array([0.9], np.float32)))
    reward.play(Waited("reward", "it comes after the older reply"))
    mixed.wait_until(lambda: "reward" in mixed.controller.waits)
    assert listed(page) == [5] and "(fit 2," in page.filter.judgement.text()


def test_a_restarted_reward_job_gets_the_request_again(mixed: Face) -> None:
    page = disagreements(mixed)
    judge(mixed, 1, {1: 0.1})
    mixed.wait_until(lambda: listed(page) == [1])
    with mixed.wait_signal(mixed.controller.job_failed):
        mixed.engine["reward"].die()
    QTest.mouseClick(page.filter.again, Qt.MouseButton.LeftButton)
    mixed.restart()
    judge(mixed, 2, {5: 0.1})
    mixed.wait_until(lambda: listed(page) == [5])


def test_reopening_the_page_requests_the_predictions_again(mixed: Face) -> None:
    page = disagreements(mixed)
    mixed.wait_until(lambda: len(mixed.engine["reward"].got(PredictionsRequested)) == 1)
    page.close()
    mixed.activate()
    page = page_of(mixed)
    judge(mixed, 1, {1: 0.1}, times=2)
    mixed.wait_until(lambda: listed(page) == [1])
