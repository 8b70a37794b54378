"""Hold-out and bootstrap of each member (paper 2.2.3)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.reward.bootstrap import Bootstrap

SHARE = math.exp(-1)


def grown(preferences: int, members: int = 3, share: float = SHARE, seed: int = 0) -> Bootstrap:
    bootstrap = Bootstrap(members, share, np.random.default_rng(seed))
    for _ in range(preferences):
        bootstrap.add(bootstrap.size)
    return bootstrap


@pytest.mark.parametrize(("preferences", "held"), [(2, 1), (3, 1), (10, 4), (11, 4), (50, 18), (100, 37), (700, 258)])
def test_each_member_holds_out_one_in_e(preferences: int, held: int) -> None:
    assert grown(preferences).holdout.sum(1).tolist() == [held] * 3


def test_at_least_one_preference_is_left_to_train_on() -> None:
    assert grown(1).counts.tolist() == [[1], [1], [1]] and not grown(1).holdout.any()
    assert grown(2, share=0.9).counts.sum(1).tolist() == [2, 2, 2]


@pytest.mark.parametrize("preferences", [1, 2, 3, 10, 100])
def test_there_are_as_many_draws_as_preferences_and_none_is_held_out(preferences: int) -> None:
    bootstrap = grown(preferences)
    assert bootstrap.counts.shape == bootstrap.holdout.shape == (3, preferences)
    assert bootstrap.counts.sum(1).tolist() == [preferences] * 3
    assert (bootstrap.counts[bootstrap.holdout] == 0).all()


@pytest.mark.slow
def test_hold_outs_and_draws_are_uniform_with_the_variance_of_a_bootstrap() -> None:
    bootstrap = grown(12, members=4000)
    assert bootstrap.holdout.mean(0) == pytest.approx(np.full(12, 4 / 12), abs=0.04)
    assert bootstrap.counts.mean(0) == pytest.approx(np.ones(12), abs=0.28)
    drawn = bootstrap.counts[~bootstrap.holdout]
    assert drawn.mean() == pytest.approx(12 / 8)
    assert drawn.var() == pytest.approx(12 * (1 / 8) * (7 / 8), rel=0.05)  # 12 draws from the 8 not held out


def test_a_restored_bootstrap_with_another_hold_out_draws_none_of_it() -> None:
    before, after = grown(30, share=0.0), Bootstrap(3, SHARE, np.random.default_rng(1))
    after.set_state(before.get_state())
    assert after.holdout.sum(1).tolist() == [11] * 3 and after.counts.sum(1).tolist() == [30] * 3
    assert (after.counts[after.holdout] == 0).all()


@pytest.mark.parametrize("index", [0, 7, 19])
def test_a_withdrawn_preference_is_forgotten_and_the_others_stay(index: int) -> None:
    bootstrap = grown(20, members=2)
    before = np.delete(bootstrap.counts, index, axis=1)
    bootstrap.remove(index)
    assert bootstrap.size == 19
    assert bootstrap.counts.sum(1).tolist() == [19, 19]
    assert bootstrap.holdout.sum(1).tolist() == [7, 7]
    assert (bootstrap.counts[bootstrap.holdout] == 0).all()
    assert np.abs(bootstrap.counts - before).sum() < 20


@pytest.mark.parametrize("index", [0, 5, 20])
def test_inserting_a_preference_changes_few_draws_of_the_others(index: int) -> None:
    bootstrap = grown(20)
    keys, counts = bootstrap.get_state()["keys"].copy(), bootstrap.counts
    bootstrap.add(index)
    others = np.delete(np.arange(21), index)
    assert (bootstrap.get_state()["keys"][:, others] == keys).all()
    assert (np.abs(bootstrap.counts[:, others] - counts).sum(1) <= 10).all()
    assert bootstrap.counts.sum(1).tolist() == [21] * 3
    assert (bootstrap.counts[bootstrap.holdout] == 0).all()
