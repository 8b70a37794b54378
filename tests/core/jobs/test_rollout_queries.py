"""What the rollout asks about, how much of it, and whom it tells what."""

from __future__ import annotations

import numpy as np
import pytest

from core.events import (
    AnswersReplayed,
    PreferenceAdded,
    PreferenceWithdrawn,
    QueryOffered,
    RewardFitted,
)
from core.tasks import get_task
from core.types import Choice
from tests.core.builders import preference
from tests.core.played import Played, of, published, rewarded


def test_a_person_always_has_some_pairs_ready() -> None:
    rollout = Played("rollout", teacher="human", query__ready=4, labels=100)
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    assert len(offered) == 4
    answers = [PreferenceAdded(preference(i, Choice.LEFT, offered[i].query)) for i in range(2)]
    assert len(of(QueryOffered, rollout.turn(*answers))) == 2


def test_cant_tell_is_asked_again_with_another_pair() -> None:
    """It teaches nothing, so the schedule still owes the label."""
    rollout = Played("rollout")
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    first = [PreferenceAdded(preference(i, Choice.CANT_TELL, o.query)) for i, o in enumerate(offered)]
    again = of(QueryOffered, rollout.turn(*first))
    assert len(again) >= len(offered) > 0
    told = [PreferenceAdded(preference(50 + i, Choice.TIE, o.query)) for i, o in enumerate(again)]
    assert of(QueryOffered, rollout.turn(*told)) == []


@pytest.mark.parametrize("length", [0, 1, 7])
def test_segments_are_as_long_as_the_config_or_the_task_says(length: int) -> None:
    rollout = Played("rollout", query__segment_steps=length)
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    lengths = {s.length for o in offered for s in (o.query.left, o.query.right)}
    assert lengths == {length or get_task("hopper-backflip").segment_steps}


def test_a_number_of_labels_is_asked_of_the_untrained_policy() -> None:
    rollout, reward = (Played(name, steps=10**9, query__first_labels=7) for name in ("rollout", "reward"))
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    assert len(offered) == 7
    answers = [PreferenceAdded(preference(i, Choice.LEFT, o.query)) for i, o in enumerate(offered)]
    assert of(RewardFitted, reward.turn(AnswersReplayed(), *answers[:6])) == []
    assert len(of(RewardFitted, reward.turn(answers[6]))) == 1


def test_the_oracle_is_told_of_the_pool_where_its_limits_need_it() -> None:
    rollout = Played("rollout", oracle__skip=0.2)
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    returns = [float(s.true_rewards.sum(dtype="float64")) for s in rollout.job.pool.all()]  # type: ignore[attr-defined]
    so_far = [(min(returns[:n]), np.mean(returns[:n])) for n in range(1, len(returns) + 1)]
    for told in (o.query.pool_returns for o in offered):
        assert any((told.worst, told.mean) == pytest.approx(expected) for expected in so_far)
    plain = Played("rollout")
    assert {o.query.pool_returns for o in of(QueryOffered, plain.turn(published(plain, 0)))} == {None}


def test_a_person_can_be_told_afterwards_what_each_member_expected() -> None:
    rollout = Played("rollout", teacher="human", query__ready=4, labels=100)
    before = of(QueryOffered, rollout.turn(published(rollout, 0)))
    assert [o.query.predicted for o in before] == [()] * 4
    ensemble = rewarded(rollout)
    answers = [PreferenceAdded(preference(i, Choice.LEFT, o.query)) for i, o in enumerate(before)]
    offered = of(QueryOffered, rollout.turn(ensemble, *answers))
    assert len(offered) == 4
    for query in (o.query for o in offered):
        left, right = rollout.job.ensemble.predicted_returns([query.left, query.right]).T  # type: ignore[attr-defined]
        assert query.predicted == pytest.approx(1 / (1 + np.exp(right.astype(float) - left)))
        assert query.disagreement == pytest.approx(np.var(query.predicted))


def test_an_answer_taken_back_is_owed_again() -> None:
    rollout = Played("rollout")
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    answers = [PreferenceAdded(preference(i, Choice.LEFT, o.query)) for i, o in enumerate(offered)]
    rollout.turn(*answers)
    assert len(of(QueryOffered, rollout.turn(PreferenceWithdrawn(0)))) == 1
