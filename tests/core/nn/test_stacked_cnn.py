"""The convolutional predictor of A.2, and its training on preferences between segments of images."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv2d, leaky_relu

from core.nn.image_input import TrainingPass
from core.nn.stacked_cnn import LAYERS, StackedCNN
from core.nn.threads import limit_threads
from core.types import Choice
from tests.core.builders import preference, same, saved_state
from tests.core.picture_toys import PLACES, SHAPE, block_preference, block_segment, block_trainer
from tests.core.reward_toys import shuffled, train


def network(members: int = 3) -> StackedCNN:
    """Return a network with random batch norm parameters and moments."""
    made = StackedCNN(members, SHAPE, 64, torch.Generator().manual_seed(1), dtype=torch.float32)
    draws = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for tensor in (*made.scales, *made.shifts, made.means):
            tensor.add_(0.2 * torch.randn(tensor.shape, generator=draws))
        made.variances.add_(torch.rand(made.variances.shape, generator=draws))
    return made.requires_grad_(False)


def images(*shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(3).integers(0, 256, (*shape, *SHAPE), np.uint8))


def by_hand(made: StackedCNN, member: int, pixels: Tensor) -> Tensor:
    """Return the output (B,) of one member for (B, n, h, w), with plain operations in double precision."""
    x = pixels.double() / 255
    for layer, (_, stride) in enumerate(LAYERS):
        x = conv2d(x, made.weights[layer][member].double(), stride=stride)
        mean, variance, scale, shift = (
            values[layer][member].double().view(1, -1, 1, 1)
            for values in (made.means, made.variances, made.scales, made.shifts)
        )
        x = leaky_relu((x - mean) / (variance + 1e-5).sqrt() * scale + shift, 0.01)
    x = leaky_relu(x.flatten(1) @ made.weights[4][member].double() + made.biases[0][member].double(), 0.01)
    return (x @ made.weights[5][member].double() + made.biases[1][member].double()).squeeze(-1)


def test_layers_and_parameters_match_the_paper() -> None:
    made = StackedCNN(3, (4, 84, 84), 64, torch.Generator())
    assert LAYERS == ((7, 3), (5, 2), (3, 1), (3, 1))
    filters = 7 * 7 * 4 * 16 + 5 * 5 * 16 * 16 + 2 * 3 * 3 * 16 * 16
    others = 4 * 2 * 16 + (784 * 64 + 64) + (64 + 1)
    assert sum(p.numel() for p in made.parameters()) == 3 * (filters + others)


def test_each_member_equals_the_plain_network_in_any_batch() -> None:
    made, pixels = network(), images(6)
    together = made(pixels)
    assert together.shape == (3, 6)
    for member in range(3):
        assert torch.allclose(together[member].double(), by_hand(made, member, pixels), atol=1e-5, rtol=1e-5)
    assert torch.allclose(together[:, 2:3], made(pixels[2:3]), atol=1e-5)


def test_segment_returns_are_sums_over_the_steps_of_each_members_own_images() -> None:
    made, pixels = network(), images(4, 5, 3)  # segments, steps, members
    returns = made.segment_returns(pixels)
    assert returns.shape == (3, 4)
    for member in range(3):
        steps = made(pixels[:, :, member].flatten(0, 1))[member].view(4, 5).sum(1)
        assert torch.allclose(returns[member], steps, atol=1e-4, rtol=1e-5)


def test_training_normalizes_by_the_moments_of_the_batch_and_updates_the_running_ones() -> None:
    made, pixels = network(2), images(4, 5, 2)
    training_pass = TrainingPass(0.0, 0)
    assert not torch.allclose(made.segment_returns(pixels), made.segment_returns(pixels, training_pass), atol=1e-2)
    assert len(training_pass.moments) == 4
    flat = conv2d(pixels[:, :, 1].flatten(0, 1).double() / 255, made.weights[0][1].double(), stride=3)
    mean, variance = training_pass.moments[0]
    assert torch.allclose(mean[16:].double(), flat.mean((0, 2, 3)), atol=1e-5)
    assert torch.allclose(variance[16:].double(), flat.var((0, 2, 3)), rtol=1e-4)
    before = made.means[0].clone()
    made.update_moments([training_pass])
    assert torch.allclose(made.means[0], 0.9 * before + 0.1 * mean.view(2, 16), atol=1e-6)


def test_dropout_zeroes_its_share_by_reproducible_draws() -> None:
    ones = torch.ones(8, 32, 26, 26).contiguous(memory_format=torch.channels_last)
    dropped = TrainingPass(0.5, 1).drop(ones.clone())
    assert set(dropped.unique().tolist()) == {0.0, 1.0} and TrainingPass(0.5, 1).scale == 2
    assert float(dropped.mean()) == pytest.approx(0.5, abs=0.005)
    made, pixels = network(2), images(4, 5, 2)
    one, again, other = (made.segment_returns(pixels, TrainingPass(0.5, seed)) for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.allclose(one, other, atol=1e-2)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("deserved", [True, False])
def test_the_predicted_reward_follows_the_true_one_unless_choices_are_shuffled(deserved: bool) -> None:
    trainer, answers = block_trainer(dropout=0.1, minibatch=8), [block_preference(i) for i in range(48)]
    train(trainer, answers if deserved else shuffled(answers), 12)
    test = block_segment(1000, np.random.default_rng(7).integers(0, PLACES, 200))
    predicted = trainer.ensemble.predict(test.observations, test.actions).mean(0)
    correlation = float(np.corrcoef(predicted, np.asarray(test.true_rewards))[0, 1])
    assert correlation > 0.8 if deserved else abs(correlation) < 0.6


def test_training_resumes_exactly_with_any_number_of_threads() -> None:
    """The state includes the running moments."""
    answers, rngs = [block_preference(i) for i in range(12)], [np.random.default_rng(seed) for seed in (0, 7)]
    trainer, restored = block_trainer(0, rngs[0], dropout=0.5), block_trainer(7, rngs[1], dropout=0.5)
    train(trainer, answers, 2)
    state, rng = saved_state(trainer), rngs[0].bit_generator.state
    assert not np.array_equal(state["ensemble_network.variances"], np.ones((4, 2, 16)))
    train(trainer, [], 2)
    limit_threads(2)
    train(restored, answers, 0)
    restored.set_state(state)
    rngs[1].bit_generator.state = rng
    train(restored, [], 2)
    assert same(saved_state(trainer), saved_state(restored))


def test_weight_decay_shrinks_every_layer_of_its_member() -> None:
    trainer = block_trainer(learning_rate=1e-3)
    train(trainer, [preference(i, Choice.TIE, block_preference(i).query) for i in range(8)], 0)
    trainer.l2 = torch.tensor([0.0, 10.0])
    before = [weight.detach().clone() for weight in trainer.ensemble.network.weights]
    train(trainer, [], 12)
    for weight, start in zip(trainer.ensemble.network.weights, before, strict=True):
        shrunk = weight.detach().abs().flatten(1).mean(1) / start.abs().flatten(1).mean(1)
        assert shrunk[1] < shrunk[0] and shrunk[1] < 1


def test_removing_a_preference_removes_its_images() -> None:
    trainer, other = block_trainer(), block_trainer()
    train(trainer, [block_preference(i) for i in range(4)], 0)
    trainer.remove(1)
    train(other, [block_preference(i) for i in (0, 2, 3)], 0)
    chosen = torch.arange(3).expand(2, -1)
    assert torch.equal(trainer.dataset.member_returns(chosen, None), other.dataset.member_returns(chosen, None))
