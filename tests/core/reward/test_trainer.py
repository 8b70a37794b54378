"""Training the ensemble on preferences (paper 2.2.3), including changed, withdrawn and restored ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from core.errors import NotFiniteError
from core.reward.trainer import EpochReport, RewardTrainer
from core.types import Choice, Preference
from tests.core.builders import preference, query, same, saved_state, segment
from tests.core.reward_toys import (
    accuracy,
    new_trainer,
    rank_correlation,
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
    assert (last.validation_loss < np.log(2) - 0.2).all()  # far better than guessing, on what each member held out
    assert (last.train_loss < 0.5).all()


def test_shuffled_choices_teach_nothing_and_raise_weight_decay() -> None:
    trainer = new_trainer(l2_rate=1.2)
    train(trainer, shuffled(toy_preferences(0, 300)), 30)
    assert 0.3 < accuracy(trainer, toy_preferences(1000, 200)) < 0.7
    assert abs(rank_correlation(trainer)) < 0.4
    assert (trainer.l2 > 2e-4).all()


def test_with_nothing_held_out_there_is_no_validation_loss() -> None:
    (report,) = train(new_trainer(), [preference(1)], 1)
    assert np.isnan(report.validation_loss).all()
    assert np.isfinite(report.train_loss).all()


def test_cant_tell_is_never_trained_on() -> None:
    plain, with_some = new_trainer(), new_trainer()
    answers = toy_preferences(0, 10)
    train(plain, answers, 3)
    train(with_some, [*answers[:5], preference(77, Choice.CANT_TELL), *answers[5:]], 3)
    assert with_some.count == 10
    assert same(weights(plain), weights(with_some))


@pytest.mark.slow
def test_training_on_returns_predicts_them_and_ignores_the_choices() -> None:
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


def test_sparsity_finds_the_relevant_input_from_few_answers() -> None:
    def first_input_wins(first: int, count: int) -> list[Preference]:
        pairs = [query(number) for number in range(first, first + count)]
        more = [pair.left.observations[:, 0].sum() > pair.right.observations[:, 0].sum() for pair in pairs]
        choices = [Choice.LEFT if left else Choice.RIGHT for left in more]
        return [preference(pair.id, choice, pair) for pair, choice in zip(pairs, choices, strict=True)]

    plain, sparse = (new_trainer(sparsity=sparsity, holdout=0.0) for sparsity in (0.0, 3.0))
    for trainer in (plain, sparse):
        train(trainer, first_input_wins(0, 30), 100)
    new = first_input_wins(1000, 200)
    assert accuracy(plain, new) < 0.75 < 0.85 < accuracy(sparse, new)
    used = sparse.ensemble.network.weights[0].detach().norm(dim=2)
    assert (used.argmax(1) == 0).all()


def test_the_pull_of_sparsity_is_shared_among_the_answers() -> None:
    def pull(count: int) -> np.ndarray:
        """Return the part of the first layer's gradient that is due to sparsity."""
        plain, sparse = (new_trainer(sparsity=sparsity, learning_rate=0.0, holdout=0.0) for sparsity in (0.0, 40.0))
        for trainer in (plain, sparse):
            train(trainer, toy_preferences(0, count), 1)
        first, other = (trainer.ensemble.network.weights[0].grad for trainer in (plain, sparse))
        return (other - first).numpy()

    assert np.abs(pull(20)).mean() > 0.1 and pull(5) == pytest.approx(4 * pull(20), abs=1e-4)


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


def infinite_bias(trainer: RewardTrainer) -> None:
    """The loss does not reveal it: P is .95 for any large difference."""
    with torch.no_grad():
        trainer.ensemble.network.biases[-1].fill_(float("inf"))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (nan_observation, "the predicted reward"),
        (infinite_bias, "the predicted reward"),
        (infinite_gradient, "the gradient"),
    ],
)
def test_values_that_are_not_finite_stop_training_before_a_weight_changes(
    spoil: Callable[[RewardTrainer], None], message: str
) -> None:
    trainer = new_trainer()
    train(trainer, toy_preferences(0, 10), 1)
    spoil(trainer)
    before = weights(trainer)
    with pytest.raises(NotFiniteError, match=f"reward fit: {message}"):
        train(trainer, [], 1)
    assert same(before, weights(trainer))


ANSWERS = 40
"""No member draws more different ones than go into one minibatch."""


def by_hand(trainer: RewardTrainer, answers: list[Preference], l2: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the loss (M,) of each member over its draws, including repeated ones, and the gradients with its own L2."""
    counts = torch.as_tensor(trainer.bootstrap.counts, dtype=torch.float32)
    returns = trainer.dataset.member_returns(torch.arange(len(answers)).expand(len(counts), -1), None)
    left = torch.sigmoid(returns[..., 0] - returns[..., 1]) * 0.9 + 0.05
    chosen = torch.where(torch.tensor([p.choice is Choice.LEFT for p in answers]), left, 1 - left)
    losses = (-chosen.log() * counts).sum(1) / len(answers)
    network = trainer.ensemble.network
    decay = sum((l2 * weight.square().flatten(1).sum(1)).sum() for weight in network.weights)
    return losses.detach(), torch.autograd.grad(losses.sum() + decay, list(network.parameters()))


def test_a_step_weights_preferences_by_their_draws_and_decays_members_by_their_own_l2() -> None:
    trainer, answers = new_trainer(learning_rate=0.0, minibatch=ANSWERS), toy_preferences(0, ANSWERS)
    train(trainer, answers, 0)
    l2 = trainer.l2 = torch.tensor([0.0, 0.01, 0.3])
    (report,) = train(trainer, [], 1)
    assert trainer.bootstrap.counts.max(axis=1).min() >= 2  # some draws are repeated
    losses, gradients = by_hand(trainer, answers, l2)
    assert report.train_loss == pytest.approx(losses.numpy(), rel=1e-5)
    for parameter, gradient in zip(trainer.ensemble.network.parameters(), gradients, strict=True):
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


def to_report(running: Iterator[EpochReport | None]) -> None:
    while next(running) is None:
        pass


def moments(trainer: RewardTrainer) -> tuple[list[float], list[float]]:
    """Return the mean and standard deviation that normalize the inputs."""
    next(trainer.epochs(1))
    return trainer.ensemble.mean.tolist(), trainer.ensemble.std.tolist()


def wild(number: int) -> Preference:
    """Return a preference with enormous observations."""
    answer = preference(number, Choice.LEFT, query(50, segment(50), segment(51)))
    answer.query.left.observations[:] *= 1e6
    return answer


def test_inputs_are_normalized_by_the_moments_of_all_segments() -> None:
    trainer, answers = new_trainer(), toy_preferences(0, 70)
    train(trainer, answers, 0)
    sides = [s for p in answers for s in (p.query.left, p.query.right)]
    rows = np.concatenate([np.concatenate([s.observations, s.actions], axis=1) for s in sides]).astype(np.float64)
    mean, std = moments(trainer)
    assert mean == pytest.approx(rows.mean(0), abs=1e-6)
    assert std == pytest.approx(rows.std(0), rel=1e-6)


def test_a_constant_input_is_not_scaled_up() -> None:
    trainer, still = new_trainer(), preference(1, Choice.TIE, query(1, segment(1), segment(1)))
    for side in (still.query.left, still.query.right):
        side.observations[:, 4] = 7.0
    trainer.add(still)
    mean, std = moments(trainer)
    assert (mean[4], std[4]) == (7.0, pytest.approx(1e-3))


def test_a_withdrawn_answer_leaves_nothing_in_moments_and_weights() -> None:
    trainers = [new_trainer(), new_trainer()]
    for trainer, extra in zip(trainers, (wild(50), preference(50, Choice.RIGHT)), strict=True):
        train(trainer, [*toy_preferences(0, 5), extra, *toy_preferences(5, 5)], 0)
        trainer.remove(50)
        trainer.remove(1234)  # never added
        train(trainer, [], 3)
    assert trainers[0].count == 10
    assert same(weights(trainers[0]), weights(trainers[1]))
    assert same(saved_state(trainers[0]), saved_state(trainers[1]))


def test_only_the_latest_labels_are_kept_and_evicted_ones_leave_the_moments() -> None:
    trainer, pair = new_trainer(members=1, max_labels=300), query(0, segment(1), segment(2))
    train(trainer, [wild(1), *(preference(i, Choice.LEFT, pair) for i in range(2, 301))], 0)
    assert trainer.count == 300 and max(moments(trainer)[1]) > 100
    trainer.add(preference(301, Choice.LEFT, pair))
    assert trainer.ids == tuple(range(2, 302)) and max(moments(trainer)[1]) < 10


def test_an_evicted_answer_is_not_added_again() -> None:
    trainer, restored, answers = new_trainer(max_labels=4), new_trainer(seed=7, max_labels=4), toy_preferences(0, 8)
    train(trainer, answers, 1)
    for withdrawn in (7, 6):
        trainer.remove(withdrawn)
    trainer.add(preference(1, Choice.TIE, answers[1].query))
    assert trainer.ids == (4, 5)
    train(restored, answers[:6], 0)
    restored.set_state(saved_state(trainer))
    assert restored.ids == (4, 5)
    restored.add(preference(3, Choice.TIE, answers[3].query))
    assert restored.ids == (4, 5)


def test_new_answers_do_not_restart_the_training() -> None:
    trainer = new_trainer(minibatch=1000)
    train(trainer, toy_preferences(0, 200), 1)
    before, counts = saved_state(trainer), trainer.bootstrap.counts.copy()
    train(trainer, toy_preferences(200, 1), 0)
    after = saved_state(trainer)
    unchanged = [name for name in before if name.startswith(("optimizer", "ensemble", "l2"))]
    assert len(unchanged) > 10 and all((before[name] == after[name]).all() for name in unchanged)
    assert (np.abs(trainer.bootstrap.counts[:, :200] - counts).sum(1) < 20).all()
    train(trainer, [], 1)
    steps = {int(array) for name, array in trainer.get_state().items() if name.endswith("_step")}
    assert steps == {2}  # one minibatch per epoch: the optimizer keeps counting
    assert trainer.count == trainer.bootstrap.size == 201


def test_changes_during_an_epoch_take_effect_in_the_next() -> None:
    trainer, answers = new_trainer(), toy_preferences(0, 101)
    train(trainer, answers[:100], 1)
    running = trainer.epochs(2)
    assert next(running) is None  # between two gradient steps
    before = saved_state(trainer)
    trainer.add(answers[100])
    trainer.remove(5)
    trainer.add(preference(7, Choice.TIE, answers[7].query))
    trainer.add(preference(8, Choice.CANT_TELL, answers[8].query))
    assert all(np.array_equal(before[name], trainer.get_state()[name]) for name in ("ids", "mu"))
    to_report(running)
    assert next(running) is None
    assert trainer.ids == tuple(i for i in range(101) if i not in (5, 8))
    assert trainer.get_state()["mu"][trainer.ids.index(7)] == 0.5
    to_report(running)


def test_a_changed_answer_counts_as_given_that_way_without_a_restart() -> None:
    changed, never, answers = new_trainer(), new_trainer(), toy_preferences(0, 12)
    other = preference(5, Choice.TIE, answers[5].query)
    train(changed, answers, 0)
    before = saved_state(changed)
    changed.add(other)
    after = saved_state(changed)
    assert [name for name in before if not np.array_equal(before[name], after[name])] == ["mu"]
    assert np.flatnonzero(before["mu"] != after["mu"]).tolist() == [5] and after["mu"][5] == 0.5
    train(never, [*answers[:5], other, *answers[6:]], 0)
    for trainer in (changed, never):
        train(trainer, [], 3)
    assert same(saved_state(changed), saved_state(never))


HISTORIES = {"plain": ([], []), "withdrawn": ([15, 9], []), "changed": ([], [6, 9]), "both": ([15], [6])}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("max_labels", [0, 12])
@pytest.mark.parametrize(("withdrawn", "changed"), HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_restored_training_continues_exactly(
    withdrawn: list[int], changed: list[int], max_labels: int, dropout: float
) -> None:
    """With max_labels, answers that were evicted for later withdrawn ones do not return."""
    rngs, settings = [np.random.default_rng(seed) for seed in (0, 7)], {"max_labels": max_labels, "dropout": dropout}
    trainer, restored = new_trainer(0, rngs[0], **settings), new_trainer(7, rngs[1], **settings)
    answers = {p.id: p for p in toy_preferences(0, 16)}
    answers[6] = preference(6, Choice.CANT_TELL, answers[6].query)
    train(trainer, list(answers.values()), 2)
    for number in withdrawn:
        trainer.remove(number)
        del answers[number]
    for number in changed:
        answers[number] = preference(number, Choice.TIE, answers[number].query)
        trainer.add(answers[number])
    train(trainer, [], 1)
    state = saved_state(trainer)
    train(restored, list(answers.values()), 0)
    restored.set_state(state)
    assert restored.matches(state) and restored.ids == trainer.ids
    rngs[1].bit_generator.state = rngs[0].bit_generator.state
    for each in (trainer, restored):
        train(each, toy_preferences(20, 1), 3)
    assert same(saved_state(trainer), saved_state(restored))


def test_a_restored_trainer_accepts_answers_changes_and_withdrawals_made_since() -> None:
    trainer, restored = new_trainer(), new_trainer(seed=7)
    answers = toy_preferences(0, 24)
    answers[3] = preference(3, Choice.CANT_TELL, answers[3].query)
    train(trainer, answers[:20], 2)
    state = saved_state(trainer)
    now = [preference(3, Choice.RIGHT, p.query) if p.id == 3 else p for p in answers if p.id != 7]
    train(restored, now, 0)
    restored.set_state(state)
    assert restored.ids == (*range(7), *range(8, 24)) and restored.bootstrap.size == 23
    assert not restored.matches(state)
    before, after = (
        dict(zip(arrays["ids"].tolist(), arrays["bootstrap_keys"].T.tolist(), strict=True))
        for arrays in (state, saved_state(restored))
    )
    assert len(before) == 19 and all(after[number] == keys for number, keys in before.items() if number != 7)
    assert same(weights(trainer), weights(restored))
    (report,) = train(restored, [], 1)
    assert np.isfinite(report.train_loss).all()
    flipped = new_trainer(seed=8)
    train(flipped, [preference(0, Choice.TIE, answers[0].query), *answers[1:20]], 0)
    flipped.set_state(state)
    assert not flipped.matches(state)
