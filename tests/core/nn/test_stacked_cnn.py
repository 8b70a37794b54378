"""The convolutional predictor of A.2, its ensemble, and its fit to preferences between segments of pictures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv2d, leaky_relu

from core.nn import threads as parallel
from core.nn.image_input import TrainingPass, compute_dtype
from core.nn.stacked_cnn import LAYERS, StackedConvolutions
from core.reward.image_ensemble import ImageEnsemble
from core.types import Choice
from tests.core.builders import preference
from tests.core.picture_toys import PLACES, SHAPE, block_fit, block_preference, block_segment
from tests.core.toy import copied, reports, same, train

ATARI = (4, 84, 84)
CPU = torch.device("cpu")


def network(members: int = 3, pictures: tuple[int, int, int] = SHAPE) -> StackedConvolutions:
    made = StackedConvolutions(members, pictures, 64, torch.Generator().manual_seed(1), kind=torch.float32)
    draws = torch.Generator().manual_seed(2)
    for tensor in (*made.scales, *made.shifts, *made.means):
        tensor.add_(0.2 * torch.randn(tensor.shape, generator=draws))
    for tensor in made.variances:
        tensor.add_(torch.rand(tensor.shape, generator=draws))
    return made


def pictures(*shape: int, seed: int = 3) -> Tensor:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.integers(0, 256, (*shape, *SHAPE), np.uint8))


def member(whole: StackedConvolutions, index: int) -> StackedConvolutions:
    """One of them alone."""
    alone = StackedConvolutions(1, SHAPE, 64, torch.Generator(), kind=torch.float32)
    alone.load_arrays({name: array[index : index + 1] for name, array in whole.to_arrays().items()})
    return alone


def by_hand(whole: StackedConvolutions, index: int, seen: Tensor) -> Tensor:
    """(B, n, h, w) -> (B,) what a member says, in plain operations in double precision."""
    x = seen.double() / 255
    for layer, (_, stride) in enumerate(LAYERS):
        x = conv2d(x, whole.weights[layer][index].double(), stride=stride)
        of_channels = [kept[layer][index].double().view(1, -1, 1, 1) for kept in (whole.means, whole.variances)]
        x = (x - of_channels[0]) / (of_channels[1] + 1e-5).sqrt()
        scale, shift = (kept[layer][index].double().view(1, -1, 1, 1) for kept in (whole.scales, whole.shifts))
        x = leaky_relu(x * scale + shift, 0.01)
    x = leaky_relu(x.flatten(1) @ whole.weights[4][index].double() + whole.biases[0][index].double(), 0.01)
    return (x @ whole.weights[5][index].double() + whole.biases[1][index].double()).squeeze(-1)


def test_layers_and_parameters_are_those_of_the_paper() -> None:
    made = StackedConvolutions(3, ATARI, 64, torch.Generator())
    assert LAYERS == ((7, 3), (5, 2), (3, 1), (3, 1))
    shapes = [tuple(weight.shape[1:]) for weight in made.weights]
    assert shapes == [(16, 4, 7, 7), (16, 16, 5, 5), (16, 16, 3, 3), (16, 16, 3, 3), (7 * 7 * 16, 64), (64, 1)]
    filters = 7 * 7 * 4 * 16 + 5 * 5 * 16 * 16 + 2 * 3 * 3 * 16 * 16
    others = 4 * 2 * 16 + (784 * 64 + 64) + (64 + 1)
    assert sum(p.numel() for p in made.parameters) == 3 * (filters + others)


def test_all_members_at_once_are_each_member_alone() -> None:
    whole, seen = network(), pictures(6)
    together = whole(seen)
    assert together.shape == (3, 6)
    for index in range(3):
        assert torch.allclose(together[index], member(whole, index)(seen)[0], atol=1e-5, rtol=1e-5)
        assert torch.allclose(together[index].double(), by_hand(whole, index, seen), atol=1e-5, rtol=1e-5)


def test_sums_over_segments_are_sums_of_steps_of_each_members_own_pictures() -> None:
    whole, seen = network(), pictures(4, 5, 3)  # segments, steps, members
    totals = whole.totals(seen)
    assert totals.shape == (3, 4)
    for index in range(3):
        steps = whole(seen[:, :, index].flatten(0, 1))[index].view(4, 5).sum(1)
        assert torch.allclose(totals[index], steps, atol=1e-4, rtol=1e-5)


def test_outside_of_training_a_picture_means_the_same_in_any_batch() -> None:
    whole, seen = network(), pictures(6)
    assert torch.allclose(whole(seen)[:, 2:3], whole(seen[2:3]), atol=1e-5)
    assert torch.equal(whole(seen), whole(seen))


def test_in_training_the_batchs_own_moments_count_and_are_kept_for_later() -> None:
    whole, seen = network(2), pictures(4, 5, 2)
    practice = TrainingPass(0.0, 0)
    before = whole.totals(seen)
    first = whole.totals(seen, practice)
    assert not torch.allclose(before, first, atol=1e-2)
    assert len(practice.moments) == 4
    flat = conv2d(seen[:, :, 1].flatten(0, 1).double() / 255, whole.weights[0][1].double(), stride=3)
    mean, variance = practice.moments[0]
    assert torch.allclose(mean[16:].double(), flat.mean((0, 2, 3)), atol=1e-5)
    assert torch.allclose(variance[16:].double(), flat.var((0, 2, 3)), rtol=1e-4)
    kept = whole.means[0].clone()
    whole.learn_moments([practice])
    assert torch.allclose(whole.means[0], 0.9 * kept + 0.1 * mean.view(2, 16), atol=1e-6)


def test_dropout_leaves_out_its_share_by_draws_that_can_be_repeated() -> None:
    ones = torch.ones(8, 32, 26, 26).contiguous(memory_format=torch.channels_last)
    dropped = TrainingPass(0.5, 1).drop(ones.clone())
    assert set(dropped.unique().tolist()) == {0.0, 1.0}
    assert float(dropped.mean()) == pytest.approx(0.5, abs=0.005)
    assert torch.equal(dropped, TrainingPass(0.5, 1).drop(ones.clone()))
    assert not torch.equal(dropped, TrainingPass(0.5, 2).drop(ones.clone()))
    assert TrainingPass(0.5, 1).factor == 2


def test_dropout_differs_from_pass_to_pass_in_training_and_is_not_there_outside() -> None:
    whole, seen = network(2), pictures(4, 5, 2)
    passes = [whole.totals(seen, TrainingPass(0.5, seed)) for seed in (1, 1, 2)]
    assert torch.equal(passes[0], passes[1])
    assert not torch.allclose(passes[0], passes[2], atol=1e-2)


def test_half_precision_tells_the_same_within_its_own() -> None:
    exact = network()
    half = StackedConvolutions(3, SHAPE, 64, torch.Generator(), kind=torch.bfloat16)
    half.load_arrays(exact.to_arrays())
    assert torch.allclose(half(pictures(6)), exact(pictures(6)), atol=0.05)
    assert half(pictures(6)).dtype == torch.float32
    assert compute_dtype(CPU) in (torch.bfloat16, torch.float32)


def test_what_was_learned_goes_along_in_a_snapshot() -> None:
    fit = block_fit()
    train(fit, [block_preference(i) for i in range(8)], 2)
    arrays = fit.ensemble.to_arrays()
    assert {f"moment_mean_{i}" for i in range(4)} <= arrays.keys()
    assert not np.array_equal(arrays["moment_variance_0"], np.ones((2, 16)))
    other = block_fit(seed=5).ensemble
    assert isinstance(other, ImageEnsemble)
    other.load_arrays(arrays)
    seen = block_segment(1, np.arange(PLACES))
    assert np.array_equal(
        other.predict(seen.observations, seen.actions), fit.ensemble.predict(seen.observations, seen.actions)
    )


def rising(fit_to_shuffled: bool) -> float:
    """Correlation of place and predicted reward, after a fit to preferences for the right, or to shuffled choices."""
    fit = block_fit(dropout=0.1, minibatch=8)
    answers = [block_preference(i) for i in range(60)]
    if fit_to_shuffled:
        order = np.random.default_rng(5).permutation(len(answers))
        answers = [preference(p.id, answers[i].choice, p.query) for p, i in zip(answers, order, strict=True)]
    train(fit, answers, 20)
    seen = block_segment(1000, np.random.default_rng(7).integers(0, PLACES, 200))
    predicted = fit.ensemble.predict(seen.observations, seen.actions).mean(0)
    return float(np.corrcoef(predicted, seen.true_rewards)[0, 1])


def test_predicted_reward_comes_to_follow_the_true_one() -> None:
    assert rising(fit_to_shuffled=False) > 0.8


def test_from_shuffled_choices_nothing_is_learned() -> None:
    assert abs(rising(fit_to_shuffled=True)) < 0.6


def test_a_picture_fit_resumes_exactly() -> None:
    answers = [block_preference(i) for i in range(12)]
    fit, restored = block_fit(dropout=0.5), block_fit(seed=7, dropout=0.5)
    train(fit, answers, 2)
    state, rng = copied(fit), fit._rng.bit_generator.state
    reports(fit, 2)
    train(restored, answers, 0)
    restored.set_state(state)
    restored._rng.bit_generator.state = rng
    reports(restored, 2)
    assert same(copied(fit), copied(restored))


def test_the_figures_of_a_picture_fit_do_not_depend_on_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    for threads in (1, 2):
        monkeypatch.setattr(parallel, "_threads", threads)
        fits.append(block_fit(dropout=0.5))
        train(fits[-1], [block_preference(i) for i in range(12)], 2)
    assert same(copied(fits[0]), copied(fits[1]))


def test_an_answer_taken_back_takes_its_pictures_along() -> None:
    fit, other = block_fit(), block_fit()
    train(fit, [block_preference(i) for i in range(4)], 0)
    fit.remove(1)
    train(other, [block_preference(i) for i in (0, 2, 3)], 0)
    chosen = torch.arange(3).expand(2, -1)
    assert all(torch.equal(one, two) for one, two in zip(fit._sums(chosen), other._sums(chosen), strict=True))


def test_weight_decay_shrinks_every_layer_of_the_member_it_is_for() -> None:
    fit = block_fit(learning_rate=1e-3)
    train(fit, [preference(i, Choice.TIE, block_preference(i).query) for i in range(8)], 0)
    fit.l2 = torch.tensor([0.0, 10.0])
    before = [weight.detach().clone() for weight in fit.ensemble.network.weights]
    reports(fit, 12)
    for weight, was in zip(fit.ensemble.network.weights, before, strict=True):
        shrunk = weight.detach().abs().flatten(1).mean(1) / was.abs().flatten(1).mean(1)
        assert shrunk[1] < shrunk[0] and shrunk[1] < 1
