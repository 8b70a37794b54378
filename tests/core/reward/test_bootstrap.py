"""Each member's own hold-out and bootstrap (paper 2.2.3)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.reward.bootstrap import Bootstrap

SHARE = math.exp(-1)


def grown(preferences: int, members: int = 3, share: float = SHARE, seed: int = 0) -> Bootstrap:
    resampling = Bootstrap(members, share, np.random.default_rng(seed))
    for _ in range(preferences):
        resampling.add()
    return resampling


@pytest.mark.parametrize(("preferences", "held"), [(2, 1), (3, 1), (10, 4), (11, 4), (50, 18), (100, 37), (700, 258)])
def test_each_member_holds_out_one_in_e(preferences: int, held: int) -> None:
    assert grown(preferences).holdout.sum(1).tolist() == [held] * 3


def test_a_single_preference_is_trained_on() -> None:
    resampling = grown(1)
    assert not resampling.holdout.any()
    assert resampling.counts.tolist() == [[1], [1], [1]]


def test_something_is_always_left_to_train_on() -> None:
    assert grown(2, share=0.9).counts.sum(1).tolist() == [2, 2, 2]


def test_without_a_hold_out_everything_may_be_drawn() -> None:
    resampling = grown(20, share=0.0)
    assert not resampling.holdout.any()
    assert resampling.counts.sum(1).tolist() == [20] * 3


@pytest.mark.parametrize("preferences", [1, 2, 3, 10, 100])
def test_as_many_draws_as_preferences_and_none_of_what_is_held_out(preferences: int) -> None:
    resampling = grown(preferences)
    assert resampling.counts.shape == resampling.holdout.shape == (3, preferences)
    assert resampling.counts.sum(1).tolist() == [preferences] * 3
    assert (resampling.counts[resampling.holdout] == 0).all()


def test_draws_are_with_replacement() -> None:
    assert grown(100).counts.max() >= 3


def test_members_differ_in_both() -> None:
    resampling = grown(60)
    assert len({row.tobytes() for row in resampling.holdout}) == 3
    assert len({row.tobytes() for row in resampling.counts}) == 3


def test_a_new_preference_leaves_most_draws_where_they_were() -> None:
    resampling = grown(200)
    before = resampling.counts.copy()
    resampling.add()
    moved = np.abs(resampling.counts[:, :200] - before).sum(1)
    assert (moved < 20).all()  # a fresh bootstrap moves about 220


def test_every_preference_is_as_likely_to_be_drawn_whenever_it_came() -> None:
    members = 4000
    counts = grown(12, members).counts
    spread = math.sqrt(12 / members)  # generously: the variance of one count is below 3
    assert counts.mean(0) == pytest.approx(np.ones(12), abs=5 * spread)


def test_every_preference_is_as_likely_to_be_held_out() -> None:
    held = grown(12, members=4000).holdout.mean(0)
    assert held == pytest.approx(np.full(12, 4 / 12), abs=0.04)


def test_the_number_of_draws_of_one_preference_spreads_as_in_a_bootstrap() -> None:
    resampling = grown(12, members=4000)
    drawn = resampling.counts[~resampling.holdout]
    expected = 12 * (1 / 8) * (7 / 8)  # 12 draws from the 8 that are not held out
    assert drawn.mean() == pytest.approx(12 / 8)
    assert drawn.var() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("index", [0, 7, 19])
def test_a_withdrawn_preference_is_forgotten_and_the_others_stay(index: int) -> None:
    resampling = grown(20, members=2)
    before = np.delete(resampling.counts, index, axis=1)
    resampling.remove(index)
    assert resampling.size == 19
    assert resampling.counts.sum(1).tolist() == [19, 19]
    assert resampling.holdout.sum(1).tolist() == [7, 7]
    assert (resampling.counts[resampling.holdout] == 0).all()
    assert np.abs(resampling.counts - before).sum() < 20


def test_the_last_one_can_be_withdrawn_and_another_come() -> None:
    resampling = grown(1)
    resampling.remove(0)
    assert resampling.size == 0
    resampling.add()
    assert resampling.counts.tolist() == [[1], [1], [1]]


def test_draws_are_uniform_after_withdrawals_too() -> None:
    resampling = grown(14, members=4000)
    for index in (13, 0):
        resampling.remove(index)
    assert resampling.counts.mean(0) == pytest.approx(np.ones(12), abs=0.28)


def test_state_brings_back_the_same_draws_and_hold_outs() -> None:
    resampling, other = grown(30, seed=1), grown(5, seed=2)
    other.set_state(resampling.get_state())
    assert (other.counts == resampling.counts).all()
    assert (other.holdout == resampling.holdout).all()


@pytest.mark.parametrize("index", [0, 5, 20])
def test_one_more_in_the_middle_moves_the_others_and_no_more(index: int) -> None:
    resampling = grown(20)
    keys, drawn = resampling._keys.copy(), resampling.counts
    resampling.add(index)
    others = np.delete(np.arange(21), index)
    assert (resampling._keys[:, others] == keys).all()
    assert (np.abs(resampling.counts[:, others] - drawn).sum(1) <= 10).all()
    assert resampling.counts.sum(1).tolist() == [21] * 3
    assert (resampling.counts[resampling.holdout] == 0).all()
