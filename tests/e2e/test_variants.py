"""The ablations (paper 3.3), selections and teachers in small whole runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from core.config import Config
from core.events import PolicyPublished, PreferenceAdded, QueryOffered, RewardFitted
from core.preferences import oracle
from core.presets import ABLATIONS
from core.tasks import CATALOGUE, get_task
from core.types import Answer, Choice, Query
from tests.e2e.taught import SHORT, TASK, Finished, Taught, Teach, assert_resumes, choices, garbage, same, tape

VARIANTS: dict[str, dict[str, Any]] = {
    **{name: dict(ablation.changes) for name, ablation in ABLATIONS.items()},
    "challenge": {"query.selection": "challenge"},
    "dropout": {"reward.dropout": 0.5},
    "the latest labels": {"reward.max_labels": 5},
    "a number of first labels": {"query.first_labels": 5},
    "an oracle that is mistaken": {"oracle.mistakes": 0.4},
    "that skips and sees ties": {"oracle.skip": 1.0, "oracle.equal": 0.2},
    "that is stochastic": {"oracle.beta": 0.001},
    "that is myopic": {"oracle.myopia": 0.3},
}
WITH_STATE = ("no-ensemble", "dropout")
"""Variants of the fit that draw random numbers of their own."""


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in WITH_STATE)) for name in VARIANTS]
)
def test_a_variant_resumes_as_if_never_stopped(teach: Teach, finished: Finished, name: str) -> None:
    changes = VARIANTS[name]
    whole = finished(**SHORT, **changes)
    resumed = assert_resumes(teach, whole, 4, **SHORT, **changes)
    asked_later = len(choices(resumed))
    assert choices(whole)[len(choices(whole)) - asked_later :] == choices(resumed)
    assert asked_later > 0 or name == "no-online-queries"


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_changes_the_run(teach: Teach, finished: Finished, name: str) -> None:
    """Each switch affects the policy, most of them from the first fit."""
    whole = finished(**SHORT).all(PolicyPublished)
    other = teach("other", **SHORT, **VARIANTS[name])

    def differs_after_a_cycle() -> bool:
        other.run.cycle()
        pairs = zip(other.all(PolicyPublished), whole, strict=False)
        return any(
            not np.array_equal(mine.weights[key], its.weights[key]) for mine, its in pairs for key in its.weights
        )

    assert any(differs_after_a_cycle() for _ in whole)


def test_without_online_queries_all_labels_come_before_the_first_update(finished: Finished) -> None:
    taught = finished(**SHORT, **VARIANTS["no-online-queries"])
    asked = [i for i, event in enumerate(taught.events) if isinstance(event, QueryOffered)]
    assert len(asked) == 12 and max(asked) < tape(taught).index("RolloutBatchReady")


def asked_about(taught: Taught) -> dict[int, int]:
    """Return the environment steps at which each queried segment was cut, by its number."""
    queries = [event.query for event in taught.all(QueryOffered)]
    return {segment.id: segment.env_steps for query in queries for segment in (query.left, query.right)}


def test_without_online_queries_pairs_are_of_as_many_clips_as_with_them(finished: Finished) -> None:
    """Using only clips of the first batch would be an ablation of its own. A batch has at most eight segments."""
    whole, early = (asked_about(finished(**SHORT, **VARIANTS.get(name, {}))) for name in ("", "no-online-queries"))
    assert len(early) >= 0.9 * len(whole) and max(early.values()) > 4 * 8 * 32


def test_single_steps_cover_as_much_time_as_segments(finished: Finished) -> None:
    for name in ("", "no-segments"):
        steps = asked_about(finished(**SHORT, **VARIANTS.get(name, {}))).values()
        assert max(steps) - min(steps) > SHORT["steps"] / 2
    pool = finished(**SHORT, **VARIANTS["no-segments"]).session.load()
    cut = pool[1]["rollout"].under("pool_")["steps"]
    assert len(cut) < 2 * SHORT["steps"] / get_task(TASK).segment_steps and np.ptp(cut) > SHORT["steps"] / 2


def test_a_skipped_query_is_replaced_by_another(finished: Finished) -> None:
    taught = finished(**SHORT, **VARIANTS["that skips and sees ties"])
    skipped = sum(choice is Choice.CANT_TELL for _, choice in choices(taught))
    assert 0 < skipped == len(choices(taught)) - taught.all(RewardFitted)[-1].preferences


@pytest.mark.slow
def test_true_returns_reach_the_target_ablation_only_through_answers(
    teach: Teach, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same answers and garbage for a true reward nothing changes; with other returns in the answers all does."""
    honest = finished(**SHORT, **VARIANTS["target"])
    recorded = {p.preference.query.id: p.preference for p in honest.all(PreferenceAdded)}
    assert all(p.returns is not None for p in recorded.values())
    monkeypatch.setitem(CATALOGUE, TASK, dataclasses.replace(get_task(TASK), true_reward=garbage))
    for factor in (1.0, 2.0):

        def as_recorded(query: Query, config: Config, factor: float = factor) -> Answer:
            kept = recorded[query.id]
            return Answer(kept.choice, (factor * kept.returns[0], factor * kept.returns[1]))

        monkeypatch.setattr(oracle, "answer", as_recorded)
        blind = teach(f"blind {factor}", **SHORT, **VARIANTS["target"])
        blind.finished()
        assert same(honest, blind) == (factor == 1.0)
