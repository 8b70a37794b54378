"""Whole headless runs, small ones: reproducible, and asking by the schedule."""

from __future__ import annotations

import numpy as np
import psutil
import pytest

from core.events import (
    PolicyUpdated,
    PreferenceAdded,
    QueryOffered,
    RewardFitted,
    RolloutBatchReady,
    RolloutReported,
)
from core.preferences.schedule import labels_due
from tests.e2e.taught import Teach, same, tape


def test_one_seed_one_result(teach: Teach) -> None:
    first, second, third = teach("a", seed=4), teach("b", seed=4), teach("c", seed=5)
    outcomes = [taught.finished() for taught in (first, second, third)]
    assert tape(first) == tape(second)
    assert same(first, second)
    assert outcomes[0].true_return == outcomes[1].true_return
    assert not same(first, third)


def test_every_label_and_every_step_is_used(teach: Teach) -> None:
    taught = teach()
    outcome = taught.finished()
    assert (outcome.labels, outcome.env_steps, outcome.steps_taken) == (12, 8 * 32 * 24, 8 * 32 * 24)
    assert len(taught.all(RolloutBatchReady)) == len(taught.all(PolicyUpdated))  # each batch was learned from
    assert taught.all(RewardFitted)[-1].preferences == 12
    assert outcome.measure.keys() == {"backflips_per_episode", "upright_landings_per_episode"}


def test_a_quarter_of_the_labels_comes_before_the_policy_moves(teach: Teach) -> None:
    taught = teach()
    taught.finished()
    before_training = taught.events[: tape(taught).index("RolloutBatchReady")]
    assert sum(isinstance(event, PreferenceAdded) for event in before_training) >= 3
    fitted = next(event for event in before_training if isinstance(event, RewardFitted))
    assert fitted.preferences >= 3


def test_labels_keep_to_the_schedule(teach: Teach) -> None:
    taught = teach()
    taught.finished()
    config, answered = taught.session.config, 0
    for event in taught.events:
        answered += isinstance(event, PreferenceAdded)
        if isinstance(event, RolloutReported):
            assert answered <= labels_due(event.env_steps, config.labels, config.steps, config.query)
    assert answered == 12


def test_queries_go_by_disagreement_once_there_is_a_reward(teach: Teach) -> None:
    taught = teach()
    taught.finished()
    fitted = tape(taught).index("RewardPublished")
    scores = [
        [e.query.disagreement for e in part if isinstance(e, QueryOffered)]
        for part in (taught.events[:fitted], taught.events[fitted:])
    ]
    assert scores[0] and np.isnan(scores[0]).all()
    assert scores[1] and (np.array(scores[1]) >= 0).all()


@pytest.mark.parametrize("lag", [0, 1])
def test_processes_of_their_own_change_nothing(teach: Teach, lag: int) -> None:
    here, apart = teach("here", policy__lag=lag), teach("apart", apart=True, policy__lag=lag)
    assert here.finished().true_return == apart.finished().true_return
    assert same(here, apart) and tape(here) == tape(apart)


def test_collectors_in_processes_change_nothing_and_rounds_of_the_reward_are_spread_alike(teach: Teach) -> None:
    chosen = {"policy__lag": 1, "rollout__environments": 256, "rollout__steps": 16, "steps": 256 * 16 * 6}
    chosen |= {"reward__steps_per_label": 300, "reward__epochs": 3}
    here, apart = teach("here", **chosen), teach("apart", apart=True, **chosen)
    collectors = set(psutil.Process().children(recursive=True)) - set(psutil.Process().children())
    assert len(collectors) == 1
    here.finished(), apart.finished()
    assert same(here, apart) and tape(here) == tape(apart)
    _, alive = psutil.wait_procs(collectors, timeout=20)
    assert not alive
    stopped = teach("stopped", apart=True, **chosen)
    for _ in range(4):
        stopped.run.cycle()
    stopped.run.save()
    stopped.close()
    resumed = teach("stopped", apart=True, **chosen)
    assert 0 < resumed.finished().steps_taken < 256 * 16 * 6
    assert same(here, resumed)
