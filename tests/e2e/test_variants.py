"""The ablations (paper 3.3), selections and teachers in whole runs, small ones."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from core.config import Config
from core.events import (
    PreferenceAdded,
    QueryOffered,
    RewardFitted,
)
from core.preferences import oracle
from core.presets import ABLATIONS
from core.tasks import CATALOGUE, get_task
from core.types import Answer, Choice, Query
from tests.e2e.taught import TASK, Teach, choices, garbage, same, stopped_and_resumed, tape

SMALL: dict[str, Any] = {"labels": 12, "steps": 8 * 32 * 14, "seed": 1}
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: dict(ablation.changes) for name, ablation in ABLATIONS.items()},
    "mutual information": {"query.selection": "mutual_information"},
    "recency": {"query.selection": "recency", "query.recency": 300},
    "dropout": {"reward.dropout": 0.5},
    "the latest labels": {"reward.max_labels": 5},
    "a number of first labels": {"query.first_labels": 5},
    "an oracle that is mistaken": {"oracle.mistakes": 0.4},
    "that skips and sees ties": {"oracle.skip": 1.0, "oracle.equal": 0.2},
    "that is stochastic": {"oracle.beta": 0.001},
    "that is myopic": {"oracle.myopia": 0.3},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_every_variant_gives_the_same_for_the_same_seed_stopped_or_not(teach: Teach, changes: dict[str, Any]) -> None:
    whole = teach("whole", **SMALL, **changes)
    expected = whole.finished()
    resumed, outcome = stopped_and_resumed(teach, 4, **SMALL, **changes)
    assert 0 < outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed)
    asked_later = len(choices(resumed))
    assert choices(whole)[len(choices(whole)) - asked_later :] == choices(resumed)
    assert asked_later > 0 or changes == ABLATIONS["no-online-queries"].changes
    assert outcome.true_return == expected.true_return and outcome.labels == expected.labels


def test_every_variant_is_another_run(teach: Teach) -> None:
    """Or a switch would be without effect. (Few pairs rank differently by information: tests/core/preferences/test_queries.py.)"""
    plain = teach("plain", **SMALL)
    plain.finished()
    for name, changes in VARIANTS.items():
        if name == "mutual information":
            continue
        varied = teach(name, **SMALL, **changes)
        varied.finished()
        assert not same(plain, varied), name


def test_without_online_queries_all_is_asked_before_the_policy_moves(teach: Teach) -> None:
    taught = teach(**ABLATIONS["no-online-queries"].changes)
    taught.finished()
    asked = [i for i, event in enumerate(taught.events) if isinstance(event, QueryOffered)]
    assert len(asked) == 12 and max(asked) < tape(taught).index("BatchCollected")


def test_an_oracle_that_skips_is_asked_again(teach: Teach) -> None:
    taught = teach(oracle__skip=1.0)
    taught.finished()
    skipped = sum(choice is Choice.CANT_TELL for _, choice in choices(taught))
    assert 0 < skipped == len(choices(taught)) - taught.all(RewardFitted)[-1].preferences


def test_the_oracles_answers_are_the_only_way_for_true_returns_to_the_target_ablation(
    teach: Teach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same answers, garbage for a true reward: nothing changes. Other returns in the answers: everything does."""
    honest = teach("honest", reward__target="returns")
    honest.finished()
    recorded = {p.preference.query.id: p.preference for p in honest.all(PreferenceAdded)}
    assert all(p.returns is not None for p in recorded.values())
    monkeypatch.setitem(CATALOGUE, TASK, dataclasses.replace(get_task(TASK), true_reward=garbage))
    for factor in (1.0, 2.0):

        def as_recorded(query: Query, config: Config, factor: float = factor) -> Answer:
            kept = recorded[query.id]
            assert kept.returns is not None
            return Answer(kept.choice, (factor * kept.returns[0], factor * kept.returns[1]))

        monkeypatch.setattr(oracle, "answer", as_recorded)
        blind = teach(f"blind {factor}", reward__target="returns")
        blind.finished()
        assert same(honest, blind) == (factor == 1.0)


def test_only_the_target_ablation_is_told_returns(teach: Teach) -> None:
    taught = teach(steps=8 * 32 * 8, oracle__equal=0.2)
    taught.finished()
    assert {p.preference.returns for p in taught.all(PreferenceAdded)} == {None}


def test_random_queries_and_a_single_predictor(teach: Teach) -> None:
    taught = teach(reward__members=1, query__selection="random")
    assert taught.finished().labels == 12
    assert len(taught.all(RewardFitted)[-1].train_loss) == 1
