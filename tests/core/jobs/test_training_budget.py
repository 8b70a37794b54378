"""The training that answers allow in a person's session."""

from __future__ import annotations

from typing import Any

import pytest

from core.config import Config, replaced
from core.events import FinishRequested, HoldChanged, PreferenceAdded, PreferenceWithdrawn
from core.jobs.training_budget import TrainingBudget
from core.types import Choice
from tests.core.builders import preference

HOLDS = "training waits for the next answer"


def unstarted(**changes: Any) -> TrainingBudget:
    """Budget of a hundred steps per answer after the first ten."""
    settings: dict[str, Any] = {
        "teacher": "human",
        "query__schedule": "answers",
        "query__first_labels": 10,
        "rollout__steps_per_answer": 100,
        "rollout__finish_steps": 400,
    }
    return TrainingBudget(replaced(Config(), **{**settings, **changes}))


def budget(**changes: Any) -> TrainingBudget:
    """The same budget, with a reward since step 1,000."""
    made = unstarted(**changes)
    made.start(1000, 10)
    made.start(1500, 11)  # later rewards have no effect
    return made


def test_each_answer_allows_its_steps_and_then_training_holds() -> None:
    made = budget()
    assert [made.reason_to_hold(1000 + steps, 10) for steps in (0, 99, 100)] == ["", "", HOLDS]
    assert [made.reason_to_hold(1000 + steps, 13) for steps in (100, 399, 400)] == ["", "", HOLDS]
    assert made.progress(5000) == 0


@pytest.mark.parametrize(
    "unlimited", [{"teacher": "oracle"}, {"query__schedule": "paper"}, {"rollout__steps_per_answer": 0}]
)
def test_training_holds_only_for_answers(unlimited: dict[str, Any]) -> None:
    assert budget(**unlimited).reason_to_hold(10**9, 10) == ""


def test_the_hold_can_be_lifted_and_put_back() -> None:
    made = budget()
    made.receive(HoldChanged(False), 1100)
    assert made.reason_to_hold(10**9, 10) == ""
    made.receive(HoldChanged(True), 10**9)
    assert made.reason_to_hold(10**9, 10) == HOLDS
    assert [made.reason_to_hold(10**9 + steps, 11) for steps in (0, 99, 100)] == ["", "", HOLDS]


def test_steps_that_answers_have_earned_outlast_a_lifted_hold_and_a_finish() -> None:
    made = budget()
    made.receive(HoldChanged(False), 1100)
    assert made.reason_to_hold(1100, 13) == ""
    made.receive(HoldChanged(True), 1100)
    assert [made.reason_to_hold(steps, 13) for steps in (1399, 1400)] == ["", HOLDS]
    made.receive(FinishRequested(), 1200)
    assert made.reason_to_hold(1200, 13) == ""
    made.receive(PreferenceAdded(preference(1)), 1210)
    assert [made.reason_to_hold(steps, 14) for steps in (1499, 1500)] == ["", HOLDS]


def test_a_finish_takes_its_steps_and_the_next_answer_ends_it() -> None:
    made = budget()
    made.receive(FinishRequested(), 2000)
    assert [made.reason_to_hold(steps, 10) for steps in (2000, 2399, 2400)] == ["", "", "training is finished"]
    assert [made.progress(steps) for steps in (2000, 2200, 2250, 2400, 9999)] == [0, 0, 0.25, 1, 1]
    assert [made.share_finished(steps) for steps in (2000, 2100, 2400, 9999)] == [0, 0.25, 1, 1]
    made.receive(PreferenceAdded(preference(1)), 2400)
    assert made.progress(2400) == 0 and made.share_finished(2400) is None and made.reason_to_hold(2400, 10) == HOLDS
    assert [made.reason_to_hold(2400 + steps, 11) for steps in (0, 99, 100)] == ["", "", HOLDS]


def test_a_finish_ends_with_the_steps_of_the_session() -> None:
    made = budget(steps=1200)
    made.receive(FinishRequested(), 1100)
    assert [made.progress(steps) for steps in (1150, 1175, 1200)] == [0, 0.5, 1]
    assert [made.share_finished(steps) for steps in (1100, 1150, 1200)] == [0, 0.5, 1]


def test_cant_tell_ends_no_finish() -> None:
    made = budget()
    made.receive(FinishRequested(), 2000)
    made.receive(PreferenceAdded(preference(1, Choice.CANT_TELL)), 2100)
    assert made.reason_to_hold(2100, 10) == "" and made.share_finished(2100) == 0.25
    made.receive(PreferenceAdded(preference(2)), 2100)
    assert made.share_finished(2100) is None


def test_answers_after_undone_ones_allow_their_own_steps() -> None:
    made = budget()
    for number in (11, 12, 13):
        made.receive(PreferenceAdded(preference(number)), 1000)
    assert [made.reason_to_hold(steps, 13) for steps in (1399, 1400)] == ["", HOLDS]
    for number in (13, 12, 11):
        made.receive(PreferenceWithdrawn(number), 1400)
    assert made.reason_to_hold(1400, 10) == HOLDS
    made.receive(PreferenceAdded(preference(14, Choice.CANT_TELL)), 1400)
    made.receive(PreferenceWithdrawn(14), 1400)
    assert made.reason_to_hold(1400, 10) == HOLDS
    made.receive(PreferenceAdded(preference(15)), 1400)
    assert [made.reason_to_hold(steps, 11) for steps in (1499, 1500)] == ["", HOLDS]
    again = budget()
    again.set_state(made.get_state())
    for number in (*range(1, 11), 15):  # replayed
        again.receive(PreferenceAdded(preference(number)), 1400)
    assert [again.reason_to_hold(steps, 11) for steps in (1499, 1500)] == ["", HOLDS]


def test_undoing_and_redoing_allow_no_further_steps() -> None:
    made = budget()
    for number in (11, 12):
        made.receive(PreferenceAdded(preference(number)), 1000)
    made.receive(HoldChanged(False), 1300)
    assert made.reason_to_hold(2000, 12) == ""
    for number in (12, 11):
        made.receive(PreferenceWithdrawn(number), 2000)
        assert made.reason_to_hold(2000, number - 1) == ""
    for number in (11, 12):
        made.receive(PreferenceAdded(preference(number)), 2000)
    made.receive(HoldChanged(True), 2000)
    assert made.reason_to_hold(2000, 12) == HOLDS


def test_answers_undone_before_the_first_reward_allow_nothing() -> None:
    made = unstarted()
    for number in range(1, 14):
        made.receive(PreferenceAdded(preference(number)), 500)
    for number in (11, 12, 13):
        made.receive(PreferenceWithdrawn(number), 500)
    made.start(1000, 10)
    assert [made.reason_to_hold(steps, 10) for steps in (1099, 1100)] == ["", HOLDS]


def test_a_taken_reward_is_followed_for_the_steps_of_one_answer() -> None:
    made = unstarted()
    made.start(0, 0)
    assert [made.reason_to_hold(steps, 0) for steps in (0, 99, 100)] == ["", "", HOLDS]
    assert [made.reason_to_hold(steps, 1) for steps in (100, 199, 200)] == ["", "", HOLDS]


def test_a_restart_continues_a_finish_unless_an_answer_came_after_the_checkpoint() -> None:
    made = budget()
    for number in (1, 2):
        made.receive(PreferenceAdded(preference(number)), 1000)
    made.receive(FinishRequested(), 2000)
    assert made.reason_to_hold(2100, 10) == ""
    again = budget()
    again.set_state(made.get_state())
    for number in (1, 2):  # all answers are replayed
        again.receive(PreferenceAdded(preference(number)), 2100)
    assert again.share_finished(2100) == 0.25 and again.reason_to_hold(2400, 10) == "training is finished"
    again.receive(PreferenceAdded(preference(3)), 2100)
    assert again.share_finished(2100) is None


def test_with_the_papers_schedule_progress_is_the_share_of_the_session() -> None:
    made = budget(query__schedule="paper", teacher="oracle", steps=1000)
    assert [made.progress(steps) for steps in (0, 250, 1000, 5000)] == [0, 0.25, 1, 1]
