"""Policies for continuous and for discrete actions, against torch's own distributions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Distribution, Independent, Normal, kl_divergence

from core.config import PolicyConfig
from core.policy.actor_critic import ActorCritic, CategoricalActorCritic, GaussianActorCritic, _tanh, actor_critic

KINDS = ("gaussian", "categorical")


def made(kind: str, seed: int = 0) -> ActorCritic:
    """With actions that differ much from row to row, as after long training."""
    start = torch.Generator().manual_seed(seed)
    network = actor_critic(4, 3, kind == "categorical", PolicyConfig(hidden=8, initial_std=0.5), start)
    with torch.no_grad():
        network.weights += 0.5 * torch.randn(network.weights.shape, generator=start)
    return network


def rows(count: int = 7, seed: int = 1) -> torch.Tensor:
    return torch.randn((count, 4), generator=torch.Generator().manual_seed(seed))


def reference(network: ActorCritic, inputs: torch.Tensor) -> Distribution:
    parameters = network.distribution(inputs)
    if isinstance(network, GaussianActorCritic):
        means, log_std = parameters
        return Independent(Normal(means, log_std.exp().expand_as(means)), 1)
    return Categorical(probs=parameters[0].exp())


def test_the_factory_makes_the_kind_that_the_environment_asks_for() -> None:
    assert isinstance(made("gaussian"), GaussianActorCritic)
    assert isinstance(made("categorical"), CategoricalActorCritic)


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_and_entropy(kind: str) -> None:
    network, inputs = made(kind), rows()
    parameters = network.distribution(inputs)
    actions, _ = network.sample(parameters, np.random.default_rng(0))
    taken = actions if kind == "gaussian" else actions.argmax(1)
    expected = reference(network, inputs)
    assert torch.allclose(network.log_probs(parameters, actions), expected.log_prob(taken), atol=1e-5)
    assert torch.allclose(network.entropy(parameters), expected.entropy().mean(), atol=1e-5)


def test_the_written_out_gradient_of_the_log_density() -> None:
    network, pull = made("gaussian"), torch.linspace(-1, 2, 7)
    means, log_std = (p.detach().clone().requires_grad_() for p in network.distribution(rows()))
    actions = means.detach() + torch.linspace(-1, 1, 21).reshape(7, 3)
    theirs = Independent(Normal(means, log_std.exp().expand_as(means)), 1).log_prob(actions)
    expected = torch.autograd.grad((theirs * pull).sum(), [means, log_std])
    found = torch.autograd.grad((network.log_probs((means, log_std), actions) * pull).sum(), [means, log_std])
    assert all(torch.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(found, expected, strict=True))


def test_the_excess_of_means_beyond_the_limits() -> None:
    means, inside = torch.tensor([[1.5, -3.0, 1.0], [0.0, -1.0, 0.5]]), torch.zeros(3)
    assert float(made("gaussian").excess((means, inside))) == pytest.approx((0.5**2 + 2.0**2) / 2)


def test_choices_have_no_limits_to_exceed() -> None:
    network = made("categorical")
    assert float(network.excess(network.distribution(rows()))) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_divergence_between_two_policies(kind: str) -> None:
    inputs, (old, new) = rows(), (made(kind, 0), made(kind, 1))
    expected = kl_divergence(reference(old, inputs), reference(new, inputs)).mean()
    found = old.kl(old.distribution(inputs), new.distribution(inputs))
    assert float(found) > 0.1
    assert torch.allclose(found, expected, rtol=1e-4)
    assert float(old.kl(old.distribution(inputs), old.distribution(inputs))) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_come_with_the_probability_they_were_drawn_with(kind: str) -> None:
    network = made(kind)
    parameters = network.distribution(rows())
    actions, log_probs = network.sample(parameters, np.random.default_rng(0))
    assert torch.allclose(log_probs, network.log_probs(parameters, actions), atol=1e-5)


def test_choices_are_drawn_as_often_as_they_are_likely() -> None:
    network = made("categorical")
    parameters = network.distribution(rows(1).expand(20_000, 4))
    actions, _ = network.sample(parameters, np.random.default_rng(0))
    assert actions.dtype == torch.float32
    assert (actions.sum(1) == 1).all() and ((actions == 0) | (actions == 1)).all()
    assert torch.allclose(actions.mean(0), parameters[0][0].exp(), atol=0.015)


def test_torques_are_drawn_with_the_spread_that_is_told() -> None:
    network = made("gaussian")
    parameters = network.distribution(rows(1).expand(20_000, 4))
    actions, _ = network.sample(parameters, np.random.default_rng(0))
    means, log_std = parameters
    assert torch.allclose(actions.mean(0), means[0], atol=0.03)
    assert torch.allclose(actions.std(0), log_std.exp(), rtol=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_the_likeliest_action_is_taken(kind: str) -> None:
    network = made(kind)
    parameters = network.distribution(rows())
    best, log_probs = network.sample(parameters, None)
    assert torch.allclose(log_probs, network.log_probs(parameters, best), atol=1e-5)
    for seed in range(20):
        others, _ = network.sample(parameters, np.random.default_rng(seed))
        assert (network.log_probs(parameters, others) <= log_probs + 1e-6).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_are_one_vector_whose_gradient_is_one_too(kind: str) -> None:
    network, inputs = made(kind), rows()
    gradient = network.train()
    policy, value = gradient[: network.policy_size], gradient[network.policy_size :]
    network.values(inputs).sum().backward()
    assert float(value.abs().sum()) > 0 and float(policy.abs().sum()) == 0
    gradient.zero_()
    parameters = network.distribution(inputs)
    network.log_probs(parameters, network.sample(parameters, np.random.default_rng(0))[0].detach()).sum().backward()
    assert float(policy.abs().sum()) > 0 and float(value.abs().sum()) == 0
    before = network.values(inputs)
    with torch.no_grad():
        network.weights[-1] += 2  # the last bias of the value
    assert torch.allclose(network.values(inputs), before + 2)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_rescaled_exactly(kind: str) -> None:
    network, inputs = made(kind), rows()
    before, acting = network.values(inputs), network.distribution(inputs)
    network.rescale_values(-3.0, 0.5)
    assert torch.allclose(network.values(inputs), -3 * before + 0.5, atol=1e-5)
    assert all(torch.equal(a, b) for a, b in zip(network.distribution(inputs), acting, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_loaded_from_its_arrays_it_is_the_same(kind: str) -> None:
    one, other = made(kind, 0), made(kind, 1)
    one.mean.fill_(0.3)
    one.std.fill_(2.0)
    other.load_arrays(one.to_arrays())
    inputs = one.normalize(rows())
    assert torch.equal(inputs, other.normalize(rows()))
    assert torch.equal(one.values(inputs), other.values(inputs))
    assert all(torch.equal(a, b) for a, b in zip(one.distribution(inputs), other.distribution(inputs), strict=True))


def test_the_quick_tanh_is_tanh_to_the_second_derivative() -> None:
    x = torch.linspace(-6, 6, 4096, dtype=torch.float64).requires_grad_()
    ours, torchs = _tanh(x), torch.tanh(x)
    assert torch.allclose(ours, torchs, atol=1e-12)
    firsts = [torch.autograd.grad(y.square().sum(), x, create_graph=True)[0] for y in (ours, torchs)]
    assert torch.allclose(*firsts, atol=1e-12)
    seconds = [torch.autograd.grad(first.square().sum(), x)[0] for first in firsts]
    assert torch.allclose(*seconds, atol=1e-12)
