"""Fitting the ensemble to answers (paper 2.2.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core import parallel
from core.config import RewardConfig
from core.errors import NotFiniteError
from core.records import Choice, Preference, Query
from core.reward.ensemble import RewardEnsemble
from core.reward.fit import FitReport, RewardFit
from tests.core.builders import ACTED, OBSERVED, preference, query, segment

TOY = np.random.default_rng(99).standard_normal(OBSERVED)
"""The toy's true reward is linear in the observation."""


def new_fit(seed: int = 0, **numbers: Any) -> RewardFit:
    plain: dict[str, Any] = {"members": 3, "hidden": 16, "learning_rate": 3e-3, "minibatch": 32, "l2": 1e-4}
    config = RewardConfig(**{**plain, **numbers})
    ensemble = RewardEnsemble(OBSERVED + ACTED, config, torch.Generator().manual_seed(seed))
    return RewardFit(ensemble, config, np.random.default_rng(seed), torch.device("cpu"))


def toy_choice(pair: Query) -> Choice:
    left, right = ((s.observations @ TOY).sum() for s in (pair.left, pair.right))
    return Choice.LEFT if left > right else Choice.RIGHT


def toy_preferences(first: int, count: int) -> list[Preference]:
    return [preference(i, toy_choice(query(i)), query(i)) for i in range(first, first + count)]


def shuffled(preferences: list[Preference]) -> list[Preference]:
    order = np.random.default_rng(5).permutation(len(preferences))
    return [preference(p.id, preferences[i].choice, p.query) for p, i in zip(preferences, order, strict=True)]


def train(fit: RewardFit, preferences: list[Preference], epochs: int) -> list[FitReport]:
    for each in preferences:
        fit.add(each)
    return reports(fit, epochs)


def reports(fit: RewardFit, epochs: int) -> list[FitReport]:
    return [report for report in fit.epochs(epochs) if report is not None]


def accuracy(fit: RewardFit, preferences: list[Preference]) -> float:
    """Share of pairs that the members' mean ranks as chosen."""
    sums = [fit.ensemble.segment_sums([p.query.left, p.query.right]).mean(0) for p in preferences]
    right = [(left > second) == (p.choice is Choice.LEFT) for (left, second), p in zip(sums, preferences, strict=True)]
    return float(np.mean(right))


def weights(fit: RewardFit) -> dict[str, np.ndarray]:
    return fit.ensemble.network.to_arrays()


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)


def test_predicted_reward_comes_to_rank_as_the_true_one() -> None:
    fit = new_fit()
    last = train(fit, toy_preferences(0, 250), 40)[-1]
    assert accuracy(fit, toy_preferences(1000, 200)) > 0.85
    assert last.accuracy > 0.8  # on what each member held out
    assert (last.train_loss < 0.5).all()


def test_from_shuffled_choices_nothing_is_learned() -> None:
    fit = new_fit()
    train(fit, shuffled(toy_preferences(0, 250)), 40)
    assert 0.3 < accuracy(fit, toy_preferences(1000, 200)) < 0.7


def test_losses_are_reported_for_each_member_and_start_near_those_of_a_coin() -> None:
    (report,) = train(new_fit(learning_rate=0.0), toy_preferences(0, 60), 1)
    assert report.train_loss.shape == report.validation_loss.shape == (3,)
    assert report.train_loss == pytest.approx(np.full(3, np.log(2)), abs=0.15)
    assert report.validation_loss == pytest.approx(np.full(3, np.log(2)), abs=0.15)


def test_with_nothing_held_out_there_is_no_validation_loss() -> None:
    (report,) = train(new_fit(), [preference(1)], 1)
    assert np.isnan(report.validation_loss).all() and np.isnan(report.accuracy)
    assert np.isfinite(report.train_loss).all()


def test_cant_tell_is_never_trained_on() -> None:
    plain, with_some = new_fit(), new_fit()
    answers = toy_preferences(0, 10)
    train(plain, answers, 3)
    train(with_some, [*answers[:5], preference(77, Choice.CANT_TELL), *answers[5:]], 3)
    assert with_some.count == 10
    assert same(weights(plain), weights(with_some))


def gaps(fit: RewardFit, preferences: list[Preference]) -> float:
    """How far apart the members see the two sides of a pair, root mean square."""
    sums = [fit.ensemble.segment_sums([p.query.left, p.query.right]) for p in preferences]
    return float(np.sqrt(np.mean([(s[:, 0] - s[:, 1]) ** 2 for s in sums])))


def test_ties_bring_both_sides_together() -> None:
    fit = new_fit(holdout=0.0)
    ties = [preference(i, Choice.TIE) for i in range(20)]
    train(fit, ties, 1)
    before = gaps(fit, ties)
    list(fit.epochs(60))
    assert gaps(fit, ties) < before / 2


def test_a_withdrawn_answer_is_forgotten() -> None:
    fits = [new_fit(), new_fit()]
    for fit, choice in zip(fits, (Choice.LEFT, Choice.RIGHT), strict=True):
        train(fit, [*toy_preferences(0, 5), preference(50, choice), *toy_preferences(5, 5)], 0)
        fit.remove(50)
        list(fit.epochs(3))
    assert fits[0].count == 10
    assert same(weights(fits[0]), weights(fits[1]))


def test_what_follows_a_withdrawn_answer_keeps_its_own_choice() -> None:
    fit = new_fit(holdout=0.0)
    train(fit, [preference(50, Choice.RIGHT), *toy_preferences(0, 150)], 0)
    fit.remove(50)
    list(fit.epochs(60))
    assert accuracy(fit, toy_preferences(0, 150)) > 0.9


def test_withdrawing_what_was_never_trained_on_is_no_matter() -> None:
    fit = new_fit()
    train(fit, toy_preferences(0, 3), 0)
    fit.remove(1234)
    assert fit.count == 3


def test_only_the_latest_3000_are_kept_where_the_task_asks_for_it() -> None:
    fit = new_fit(members=1, latest=3000)
    pair = query(0, segment(1, 1), segment(2, 1))
    train(fit, [preference(i, Choice.LEFT, pair) for i in range(1, 3002)], 0)
    assert fit.get_state()["ids"].tolist() == list(range(2, 3002))


def copied(fit: RewardFit) -> dict[str, np.ndarray]:
    return {name: np.array(array) for name, array in fit.get_state().items()}


def test_a_restored_fit_goes_on_exactly() -> None:
    answers = toy_preferences(0, 20)
    fit, restored = new_fit(), new_fit(seed=7)
    train(fit, answers, 3)
    state, rng = copied(fit), fit._rng.bit_generator.state
    list(fit.epochs(3))
    train(restored, answers, 0)
    restored.set_state(state)
    restored._rng.bit_generator.state = rng
    list(restored.epochs(3))
    assert same(weights(fit), weights(restored))
    assert same(copied(fit), copied(restored))


def test_a_restored_fit_takes_in_what_was_answered_or_withdrawn_since() -> None:
    fit, restored = new_fit(), new_fit(seed=7)
    train(fit, toy_preferences(0, 20), 2)
    state = copied(fit)
    train(restored, [*toy_preferences(0, 7), *toy_preferences(8, 16)], 0)  # without 7; with 20 to 23
    restored.set_state(state)
    assert restored.count == restored.resampling.size == 23
    assert restored.get_state()["ids"].tolist() == [*range(7), *range(8, 24)]
    assert same(weights(fit), weights(restored))
    assert np.isfinite(reports(restored, 1)[0].train_loss).all()


def test_new_answers_join_without_starting_over() -> None:
    fit = new_fit()
    trained = train(fit, toy_preferences(0, 100), 40)[-1]
    before = weights(fit)
    fit.add(toy_preferences(100, 1)[0])
    assert same(before, weights(fit))
    (next_epoch,) = reports(fit, 1)
    assert next_epoch.train_loss == pytest.approx(trained.train_loss, abs=0.1)
    assert (next_epoch.train_loss < 0.5).all()


def test_answers_given_or_withdrawn_during_an_epoch_join_the_next() -> None:
    fit = new_fit()
    train(fit, toy_preferences(0, 100), 1)
    turns = fit.epochs(2)
    assert next(turns) is None  # between two gradient steps
    fit.add(toy_preferences(100, 1)[0])
    fit.remove(7)
    assert fit.get_state()["ids"].tolist() == [*range(100)]
    while next(turns) is None:
        pass
    next(turns)
    assert fit.get_state()["ids"].tolist() == [*range(7), *range(8, 101)]
    assert [report is not None for report in turns][-1]


def test_the_figures_do_not_depend_on_the_threads() -> None:
    results = []
    for threads in (1, 2):
        parallel.allow(threads)
        try:
            fit = new_fit()
            train(fit, toy_preferences(0, 100), 3)
            results.append(weights(fit))
        finally:
            parallel.allow(1)
    assert same(*results)


def test_not_a_number_stops_the_fit_before_it_spoils_a_weight() -> None:
    fit = new_fit()
    train(fit, toy_preferences(0, 10), 1)
    before = weights(fit)
    bad = segment(3)
    bad.observations[2, 1] = np.nan
    fit.add(preference(11, Choice.LEFT, query(11, bad)))
    with pytest.raises(NotFiniteError, match="reward fit"):
        list(fit.epochs(1))
    assert same(before, weights(fit))


def test_weight_decay_rises_when_members_learn_noise_by_heart() -> None:
    fit = new_fit(l2_rate=1.2)
    train(fit, shuffled(toy_preferences(0, 40)), 40)
    assert (fit.l2 > 2e-4).all()


def test_weight_decay_falls_when_validation_is_as_good_as_training() -> None:
    fit = new_fit(l2_rate=1.2)
    train(fit, [preference(i, Choice.TIE) for i in range(40)], 10)
    assert (fit.l2 < 5e-5).all()


def trained_norm(l2: float) -> float:
    fit = new_fit(l2=l2, l2_rate=1.0)
    train(fit, shuffled(toy_preferences(0, 40)), 30)
    return sum(float(weight.detach().square().sum()) for weight in fit.ensemble.network.weights)


def test_weight_decay_makes_weights_smaller() -> None:
    assert trained_norm(l2=0.1) < 0.7 * trained_norm(l2=0.0)
