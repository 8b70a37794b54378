"""Fitting the ensemble to answers (paper 2.2.3)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.errors import NotFiniteError
from core.nn import threads
from core.reward.trainer import RewardTrainer
from core.types import Choice, Preference
from tests.core.builders import OBSERVED, preference, query, segment
from tests.core.toy import (
    accuracy,
    copied,
    new_fit,
    rank_correlation,
    returned,
    same,
    shuffled,
    told,
    toy_preferences,
    train,
    weights,
)


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


def test_what_the_predictors_are_not_to_see_is_not_fitted_to_either() -> None:
    answers = toy_preferences(0, 30)
    blind, seeing = new_fit(observed=4), new_fit(observed=4)
    train(blind, [_without(answer, 4) for answer in answers], 3)
    train(seeing, answers, 3)
    assert same(weights(blind), weights(seeing))


def _without(answer: Preference, first: int) -> Preference:
    """The same but for the observations' numbers from `first` on."""
    left, right = (
        replace(s, observations=np.pad(s.observations[:, :first], ((0, 0), (0, OBSERVED - first))))
        for s in (answer.query.left, answer.query.right)
    )
    return replace(answer, query=replace(answer.query, left=left, right=right))


def gaps(fit: RewardTrainer, preferences: list[Preference]) -> float:
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


def test_unseen_states_are_ranked_as_by_the_true_reward() -> None:
    fit = new_fit()
    train(fit, toy_preferences(0, 400), 40)
    assert rank_correlation(fit) > 0.9


def test_from_shuffled_choices_unseen_states_are_ranked_like_nothing() -> None:
    fit = new_fit()
    train(fit, shuffled(toy_preferences(0, 400)), 40)
    assert abs(rank_correlation(fit)) < 0.4


def test_fitted_to_returns_it_predicts_them() -> None:
    fit = new_fit(target="returns")
    answers = told(toy_preferences(0, 400))
    first, *_, last = train(fit, answers, 60)
    assert (last.train_loss < first.train_loss / 20).all()
    assert rank_correlation(fit) > 0.9
    new = told(toy_preferences(1000, 100))
    sums = np.array([fit.ensemble.segment_sums([p.query.left, p.query.right]).mean(0) for p in new])
    assert np.corrcoef(sums.ravel(), np.array([p.returns for p in new]).ravel())[0, 1] > 0.9


def test_fitted_to_returns_the_choices_are_not_looked_at() -> None:
    fits = [new_fit(target="returns") for _ in range(2)]
    answers = told(toy_preferences(0, 30))
    train(fits[0], answers, 3)
    train(fits[1], [replace(p, choice=Choice.LEFT) for p in answers], 3)
    assert same(weights(fits[0]), weights(fits[1]))


def test_fitted_to_comparisons_returns_are_not_looked_at() -> None:
    fits = [new_fit() for _ in range(2)]
    train(fits[0], toy_preferences(0, 30), 3)
    train(fits[1], [replace(p, returns=(1e9, float("nan"))) for p in toy_preferences(0, 30)], 3)
    assert same(weights(fits[0]), weights(fits[1]))


def test_an_answer_without_returns_cannot_be_fitted_to_returns() -> None:
    with pytest.raises(ValueError, match="returns"):
        new_fit(target="returns").add(preference(1))


def test_dropout_leaves_out_its_share_of_units_and_keeps_the_mean() -> None:
    fit = new_fit(dropout=0.25)
    drop = fit._pairs.practice(fit._rng)
    assert drop is not None
    dropped = drop(torch.ones(3, 100, 64)).numpy()
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert (dropped == 0).mean() == pytest.approx(0.25, abs=0.01)
    assert dropped.mean() == pytest.approx(1, abs=0.02)


def test_with_dropout_a_gradient_step_differs_but_validation_and_prediction_do_not() -> None:
    plain, dropping = new_fit(), new_fit(dropout=0.5)
    for fit in (plain, dropping):
        train(fit, toy_preferences(0, 40), 0)
        fit._pairs.prepare()
    every, even = torch.arange(40).expand(3, -1), torch.ones(3, 40)
    losses = [fit._gradients(every, even, fit._pairs.practice(fit._rng))[0] for fit in (plain, dropping, dropping)]
    assert not torch.equal(losses[0], losses[1])
    assert not torch.equal(losses[1], losses[2])
    with threads.two_threads() as both:
        first, second = (returned(fit._validate(both)) for fit in (plain, dropping))
    assert torch.equal(first[0], second[0])
    held = [segment(i) for i in range(3)]
    assert np.array_equal(plain.ensemble.segment_sums(held), dropping.ensemble.segment_sums(held))


def test_a_fit_with_dropout_learns_and_resumes_exactly() -> None:
    answers = toy_preferences(0, 250)
    fit, restored = new_fit(dropout=0.2), new_fit(seed=7, dropout=0.2)
    train(fit, answers, 40)
    assert accuracy(fit, toy_preferences(1000, 200)) > 0.8
    state, rng = copied(fit), fit._rng.bit_generator.state
    list(fit.epochs(2))
    train(restored, answers, 0)
    restored.set_state(state)
    restored._rng.bit_generator.state = rng
    list(restored.epochs(2))
    assert same(copied(fit), copied(restored))


def test_without_weight_decay_there_stays_none() -> None:
    fit = new_fit(l2=0.0, l2_rate=1.2)
    train(fit, shuffled(toy_preferences(0, 40)), 20)
    assert (fit.l2 == 0).all()


def test_a_gradient_that_is_no_number_stops_the_fit_before_it_spoils_a_weight() -> None:
    fit = new_fit()
    train(fit, toy_preferences(0, 10), 1)
    before = weights(fit)
    fit.ensemble.network.weights[0].register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(NotFiniteError, match="reward fit: the gradient"):
        list(fit.epochs(1))
    assert same(before, weights(fit))


def test_an_infinite_prediction_stops_the_fit() -> None:
    """The loss does not show it: P is .95 for any large difference."""
    fit = new_fit()
    train(fit, toy_preferences(0, 10), 1)
    with torch.no_grad():
        fit.ensemble.network.biases[-1].fill_(float("inf"))
    with pytest.raises(NotFiniteError, match="reward fit: the predicted reward"):
        list(fit.epochs(1))
