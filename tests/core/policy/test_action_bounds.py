"""What keeps a policy update within bounds: the clipped ratio, the clipped gradient, values that keep their meaning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.nn.threads import two_threads
from core.policy.ppo import PPO, _Clipped
from tests.core.toys import ALGORITHMS, drifting, improved, one_step, optimizer

every = pytest.mark.parametrize("algorithm", ALGORITHMS)


@pytest.mark.parametrize(
    ("ratio", "advantage", "pushes"),
    [(1.3, 1.0, False), (1.1, 1.0, True), (0.7, 1.0, True), (0.7, -1.0, False), (0.9, -1.0, True), (1.3, -1.0, True)],
)
def test_ppo_pushes_no_action_further_than_the_clip(ratio: float, advantage: float, pushes: bool) -> None:
    """Beyond 1 +- .2 only what brings the action back counts (Schulman et al. 2017, equation 7)."""
    made = optimizer("ppo", clip=0.2, max_gradient=1e6)
    assert isinstance(made, PPO)
    with torch.no_grad():
        batch = made._prepare(one_step(made.network, 0, count=64))
    moved = replace(
        batch, log_probs=batch.log_probs - np.log(ratio), advantages=torch.full_like(batch.advantages, advantage)
    )
    with two_threads() as both:
        made._step(moved, both)
    assert bool(made._gradient[: made.network.policy_size].any()) == pushes


def test_the_written_out_gradient_of_the_bounded_gain() -> None:
    change = torch.linspace(-0.6, 0.6, 24).requires_grad_()
    advantage = torch.tensor([1.0, -2.0, 0.5]).repeat(8)
    gain, kl = _Clipped.apply(change, advantage, 0.2)
    ratio = change.exp()
    expected = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    (found,) = torch.autograd.grad(gain, change)
    assert torch.allclose(gain, expected)
    assert torch.allclose(found, torch.autograd.grad(expected, change, retain_graph=True)[0])
    assert torch.allclose(kl, (ratio - 1 - change).mean())


@every
@pytest.mark.parametrize(("length", "kept"), [(100.0, 0.5), (0.3, 0.3)])
def test_a_gradient_longer_than_allowed_is_shortened_and_a_shorter_one_left(
    algorithm: str, length: float, kept: float
) -> None:
    made = optimizer(algorithm, max_gradient=0.5)
    made.network.values(torch.ones(1, 2)).sum().backward()
    direction = made._gradient / made._gradient.norm()
    made._descend(length * made.network.values(torch.ones(1, 2)).sum() / float(made._gradient.norm()))
    assert float(made._gradient.norm()) == pytest.approx(kept, rel=1e-4)
    assert float(made._gradient @ direction) == pytest.approx(kept, rel=1e-4)


@every
@pytest.mark.parametrize("factor", [5.0, 30.0])
def test_values_keep_their_meaning_when_their_unit_moves(algorithm: str, factor: float) -> None:
    """What the value function says of a state, in units of the reward, is not touched by a new unit."""
    made = optimizer(algorithm, discount=0.9)
    for seed in range(3):
        improved(made, drifting(made.network, seed))
    states = torch.as_tensor(np.random.default_rng(5).standard_normal((50, 2)).astype(np.float32))
    with torch.no_grad():
        unit, values = made._scale.value, made.network.values(states).numpy().copy()
        made._scaled(drifting(made.network, 50, factor))
        after = made.network.values(states).numpy()
    assert not 0.8 < made._scale.value / unit < 1.25
    assert after * made._scale.value == pytest.approx(values * unit, rel=1e-4, abs=1e-6)
