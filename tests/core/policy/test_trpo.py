"""The trust region: curvature, conjugate gradients, and a line search that keeps its limit (paper 2.2.1, A.1)."""

from __future__ import annotations

import pytest
import torch

from core.events import RolloutBatchReady
from core.policy.on_policy import OnPolicyOptimizer
from core.policy.trpo import conjugate_gradients, fisher_product
from tests.core.policy_toys import improve, one_step, optimizer


def test_conjugate_gradients_solve_a_known_system() -> None:
    start = torch.Generator().manual_seed(0)
    root = torch.randn((6, 6), generator=start, dtype=torch.float64)
    matrix, wanted = root @ root.T + torch.eye(6), torch.arange(1.0, 7.0, dtype=torch.float64)
    found = conjugate_gradients(lambda vector: matrix @ vector, matrix @ wanted, steps=20)
    assert torch.allclose(found, wanted, atol=1e-6)
    assert not torch.allclose(conjugate_gradients(lambda v: matrix @ v, matrix @ wanted, steps=2), wanted, atol=1e-2)


def test_conjugate_gradients_stop_along_a_direction_without_curvature() -> None:
    right = torch.tensor([0.0, 1.0])
    found = conjugate_gradients(lambda vector: vector * torch.tensor([1.0, 0.0]), right, steps=10)
    assert torch.equal(found, torch.zeros(2))


@pytest.mark.parametrize("discrete", [False, True])
def test_the_fisher_product_is_the_hessian_of_the_divergence_times_a_vector(discrete: bool) -> None:
    network = optimizer("trpo", discrete=discrete, hidden=3).network
    with torch.no_grad():
        network.weights += 0.3 * torch.randn(network.weights.shape, generator=torch.Generator().manual_seed(1))
    inputs = torch.randn((20, 2), generator=torch.Generator().manual_seed(2))
    old = tuple(p.detach().clone() for p in network.distribution(inputs))
    sizes = [parameter.numel() for parameter in network.policy_parameters]
    shapes = [parameter.shape for parameter in network.policy_parameters]

    def divergence(vector: torch.Tensor) -> torch.Tensor:
        parts = [part.view(shape) for part, shape in zip(vector.split(sizes), shapes, strict=True)]
        network.policy_parameters = parts
        return network.kl(old, network.distribution(inputs))

    product = fisher_product(network, inputs, damping=0.25)
    vector = torch.randn(sum(sizes), generator=torch.Generator().manual_seed(3))
    found = product(vector)
    hessian = torch.autograd.functional.hessian(divergence, network.weights[: sum(sizes)].clone())
    assert float(hessian.abs().max()) > 0.1
    assert torch.allclose(found, hessian @ vector + 0.25 * vector, atol=1e-4)


def divergence_after(made: OnPolicyOptimizer, batch: RolloutBatchReady) -> float:
    """Update the policy with a batch, and return the mean KL divergence of the new policy from the old one on it."""
    inputs = made.network.normalize(torch.as_tensor(batch.observations[0]))
    with torch.no_grad():
        old = tuple(p.clone() for p in made.network.distribution(inputs))
    list(made.update(batch))
    with torch.no_grad():
        return float(made.network.kl(old, made.network.distribution(inputs)))


@pytest.mark.parametrize("discrete", [False, True])
def test_no_update_moves_the_policy_beyond_the_limit(discrete: bool) -> None:
    made = optimizer("trpo", discrete=discrete, damping=1e-4)
    for seed in range(8):
        batch = one_step(made.network, seed)
        assert 0.002 < divergence_after(made, batch) <= made.config.max_kl + 1e-6
        made.observe(batch.observations)


@pytest.mark.parametrize("discrete", [False, True])
def test_a_short_step_reaches_the_limit_or_is_shortened_once(discrete: bool) -> None:
    """The divergence of a short step is quadratic, so that four fifths of it have 0.64 of the limit."""
    limit = 1e-4
    made = optimizer("trpo", discrete=discrete, damping=1e-4, max_kl=limit, curvature_share=1.0)
    assert 0.6 * limit < divergence_after(made, one_step(made.network, 0)) <= limit


def test_a_rejected_step_changes_no_bit_of_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    made = optimizer("trpo")
    improve(made, one_step(made.network, 0))
    policy = made.network.weights[: made.network.policy_size]
    values = made.network.weights[made.network.policy_size :]
    before, value_before = policy.clone(), values.clone()
    tried: list[torch.Tensor] = []

    def too_far(old: object, new: object) -> torch.Tensor:
        tried.append(policy.clone())
        return torch.tensor(torch.inf)

    monkeypatch.setattr(made.network, "kl", too_far)
    monkeypatch.setattr("core.policy.trpo.fisher_product", lambda *_: lambda vector: vector)
    list(made.update(one_step(made.network, 1)))
    assert len(tried) == made.config.line_search
    assert all(not torch.equal(before, attempt) for attempt in tried)
    assert torch.equal(before, policy)
    assert not torch.equal(value_before, values)  # the value function still learns
