"""Training the ensemble on preferences (paper 2.2.3), and one gradient step against the same loss written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from core.errors import NotFiniteError
from core.reward.trainer import RewardTrainer
from core.types import Choice, Preference
from tests.core.builders import OBSERVED, preference, query, segment
from tests.core.reward_toys import (
    accuracy,
    new_trainer,
    rank_correlation,
    same,
    shuffled,
    toy_preferences,
    train,
    weights,
    with_returns,
)


def test_the_predicted_reward_ranks_new_pairs_and_states_as_the_true_one() -> None:
    trainer = new_trainer()
    last = train(trainer, toy_preferences(0, 300), 30)[-1]
    assert accuracy(trainer, toy_preferences(1000, 200)) > 0.85
    assert rank_correlation(trainer) > 0.9
    assert last.accuracy > 0.8  # on what each member held out
    assert (last.train_loss < 0.5).all()


def test_from_shuffled_choices_nothing_is_learned_and_weight_decay_rises() -> None:
    trainer = new_trainer(l2_rate=1.2)
    train(trainer, shuffled(toy_preferences(0, 300)), 30)
    assert 0.3 < accuracy(trainer, toy_preferences(1000, 200)) < 0.7
    assert abs(rank_correlation(trainer)) < 0.4
    assert (trainer.l2 > 2e-4).all()


def test_losses_are_reported_for_each_member_and_start_near_those_of_a_coin() -> None:
    (report,) = train(new_trainer(learning_rate=0.0), toy_preferences(0, 60), 1)
    for losses in (report.train_loss, report.validation_loss):
        assert losses == pytest.approx(np.full(3, np.log(2)), abs=0.15)


def test_with_nothing_held_out_there_is_no_validation_loss() -> None:
    (report,) = train(new_trainer(), [preference(1)], 1)
    assert np.isnan(report.validation_loss).all() and np.isnan(report.accuracy)
    assert np.isfinite(report.train_loss).all()


def test_cant_tell_is_never_trained_on() -> None:
    plain, with_some = new_trainer(), new_trainer()
    answers = toy_preferences(0, 10)
    train(plain, answers, 3)
    train(with_some, [*answers[:5], preference(77, Choice.CANT_TELL), *answers[5:]], 3)
    assert with_some.count == 10
    assert same(weights(plain), weights(with_some))


def test_numbers_beyond_reward_observed_have_no_effect() -> None:
    def cut(answer: Preference) -> Preference:
        left, right = (
            replace(s, observations=np.pad(s.observations[:, :4], ((0, 0), (0, OBSERVED - 4))))
            for s in (answer.query.left, answer.query.right)
        )
        return replace(answer, query=replace(answer.query, left=left, right=right))

    answers, blind, seeing = toy_preferences(0, 30), new_trainer(observed=4), new_trainer(observed=4)
    train(blind, list(map(cut, answers)), 3)
    train(seeing, answers, 3)
    assert same(weights(blind), weights(seeing))


def difference(trainer: RewardTrainer, preferences: list[Preference]) -> float:
    """Root mean square of the members' differences between both predicted returns."""
    returns = [trainer.ensemble.predicted_returns([p.query.left, p.query.right]) for p in preferences]
    return float(np.sqrt(np.mean([(r[:, 0] - r[:, 1]) ** 2 for r in returns])))


def test_ties_bring_both_returns_together_and_weight_decay_falls() -> None:
    trainer, ties = new_trainer(l2_rate=1.2), [preference(i, Choice.TIE) for i in range(40)]
    train(trainer, ties, 1)
    before = difference(trainer, ties)
    train(trainer, [], 30)
    assert difference(trainer, ties) < before / 2
    assert (trainer.l2 < 5e-5).all()


def trained_norm(l2: float) -> float:
    trainer = new_trainer(l2=l2, l2_rate=1.0)
    train(trainer, shuffled(toy_preferences(0, 40)), 30)
    assert trainer.l2.tolist() == pytest.approx([l2] * 3)
    return sum(float(weight.detach().square().sum()) for weight in trainer.ensemble.network.weights)


def test_weight_decay_makes_weights_smaller() -> None:
    assert trained_norm(l2=0.1) < 0.7 * trained_norm(l2=0.0)


def test_without_weight_decay_there_stays_none() -> None:
    trainer = new_trainer(l2=0.0, l2_rate=1.2)
    train(trainer, shuffled(toy_preferences(0, 40)), 10)
    assert (trainer.l2 == 0).all()


def test_trained_on_returns_it_predicts_them_and_ignores_the_choices() -> None:
    trainer, other = (new_trainer(target="returns") for _ in range(2))
    answers = with_returns(toy_preferences(0, 400))
    train(other, [replace(p, choice=Choice.LEFT) for p in answers], 1)
    (first,) = train(trainer, answers, 1)
    assert same(weights(trainer), weights(other))
    *_, last = train(trainer, [], 49)
    assert (last.train_loss < first.train_loss / 20).all()
    new = with_returns(toy_preferences(1000, 100))
    predicted = np.array([trainer.ensemble.predicted_returns([p.query.left, p.query.right]).mean(0) for p in new])
    assert np.corrcoef(predicted.ravel(), np.array([p.returns for p in new]).ravel())[0, 1] > 0.9
    with pytest.raises(ValueError, match="returns"):
        trainer.add(preference(5000))


def test_trained_on_comparisons_it_ignores_returns() -> None:
    trainers = [new_trainer() for _ in range(2)]
    train(trainers[0], toy_preferences(0, 30), 3)
    train(trainers[1], [replace(p, returns=(1e9, float("nan"))) for p in toy_preferences(0, 30)], 3)
    assert same(weights(trainers[0]), weights(trainers[1]))


def test_dropout_leaves_out_its_share_of_units_and_keeps_the_mean() -> None:
    drop = new_trainer(dropout=0.25).dataset.training_pass(np.random.default_rng(0))
    dropped = drop(torch.ones(3, 100, 64)).numpy()
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert (dropped == 0).mean() == pytest.approx(0.25, abs=0.01)
    assert dropped.mean() == pytest.approx(1, abs=0.02)


def test_dropout_changes_training_but_not_validation_and_prediction() -> None:
    trainers = [new_trainer(dropout=dropout, learning_rate=0.0) for dropout in (0.0, 0.5)]
    reports = [train(trainer, toy_preferences(0, 40), 2) for trainer in trainers]
    for plain, dropping in zip(*reports, strict=True):
        assert not np.array_equal(plain.train_loss, dropping.train_loss)
    assert not np.array_equal(reports[1][0].train_loss, reports[1][1].train_loss)  # new draws each time
    assert np.array_equal(*(report[0].validation_loss for report in reports))
    segments = [segment(i) for i in range(3)]
    assert np.array_equal(*(trainer.ensemble.predicted_returns(segments) for trainer in trainers))
    learning = new_trainer(dropout=0.2)
    train(learning, toy_preferences(0, 250), 30)
    assert accuracy(learning, toy_preferences(1000, 200)) > 0.8


def nan_observation(trainer: RewardTrainer) -> None:
    bad = segment(3)
    bad.observations[2, 1] = np.nan
    trainer.add(preference(11, Choice.LEFT, query(11, bad)))


def infinite_gradient(trainer: RewardTrainer) -> None:
    trainer.ensemble.network.weights[0].register_hook(lambda gradient: gradient * float("inf"))


@pytest.mark.parametrize(
    ("spoil", "message"), [(nan_observation, "the predicted reward"), (infinite_gradient, "the gradient")]
)
def test_what_is_not_finite_stops_the_training_before_it_changes_a_weight(spoil: object, message: str) -> None:
    trainer = new_trainer()
    train(trainer, toy_preferences(0, 10), 1)
    before = weights(trainer)
    assert callable(spoil)
    spoil(trainer)
    with pytest.raises(NotFiniteError, match=f"reward fit: {message}"):
        train(trainer, [], 1)
    assert same(before, weights(trainer))


def test_an_infinite_prediction_stops_the_training() -> None:
    """The loss does not show it: P is .95 for any large difference."""
    trainer = new_trainer()
    train(trainer, toy_preferences(0, 10), 1)
    with torch.no_grad():
        trainer.ensemble.network.biases[-1].fill_(float("inf"))
    with pytest.raises(NotFiniteError, match="reward fit: the predicted reward"):
        train(trainer, [], 1)


ANSWERS = 40
"""No member draws more different ones than go into one minibatch."""


def by_hand(trainer: RewardTrainer, answers: list[Preference], l2: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The loss of each member (M,) over all its draws, repeated ones included; and the gradients with its own L2."""
    counts = torch.as_tensor(trainer.bootstrap.counts, dtype=torch.float32)
    returns = trainer.dataset.member_returns(torch.arange(len(answers)).expand(len(counts), -1), None)
    left = torch.sigmoid(returns[..., 0] - returns[..., 1]) * 0.9 + 0.05
    chosen = torch.where(torch.tensor([p.choice is Choice.LEFT for p in answers]), left, 1 - left)
    losses = (-chosen.log() * counts).sum(1) / len(answers)
    network = trainer.ensemble.network
    decay = sum((l2 * weight.square().flatten(1).sum(1)).sum() for weight in network.weights)
    return losses.detach(), torch.autograd.grad(losses.sum() + decay, list(network.parameters()))


def test_a_step_weights_each_preference_by_its_draws_and_decays_each_member_by_its_own_l2() -> None:
    trainer, answers = new_trainer(learning_rate=0.0, minibatch=ANSWERS), toy_preferences(0, ANSWERS)
    train(trainer, answers, 0)
    l2 = trainer.l2 = torch.tensor([0.0, 0.01, 0.3])
    (report,) = train(trainer, [], 1)
    assert trainer.bootstrap.counts.max(axis=1).min() >= 2  # some draws are repeated
    losses, gradients = by_hand(trainer, answers, l2)
    assert report.train_loss == pytest.approx(losses.numpy(), rel=1e-5)
    for parameter, gradient in zip(trainer.ensemble.network.parameters(), gradients, strict=True):
        assert parameter.grad is not None
        assert parameter.grad.numpy() == pytest.approx(gradient.numpy(), abs=1e-6, rel=1e-4)


def test_each_members_l2_follows_its_own_losses() -> None:
    trainer = new_trainer(l2_rate=1.2)
    train(trainer, shuffled(toy_preferences(0, ANSWERS)), 0)
    apart = 0
    for _ in range(15):
        before = trainer.l2.numpy().copy()
        (report,) = train(trainer, [], 1)
        ratio = report.validation_loss / report.train_loss
        factor = np.where(ratio > 1.5, 1.2, np.where(ratio < 1.1, 1 / 1.2, 1.0))
        assert trainer.l2.numpy() == pytest.approx(before * factor, rel=1e-5)
        apart += len(set(factor)) > 1
    assert apart > 0
