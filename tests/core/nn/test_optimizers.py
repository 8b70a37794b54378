"""What all policy optimizers promise (paper 2.2.1, A): they learn, follow a changing reward, stop at NaN, resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from core.nn.optimizers import RMSprop, load_optimizer, optimizer_arrays

from core.config import PolicyConfig
from core.errors import NotFiniteError
from core.events import RolloutBatchReady
from core.policy.on_policy import OnPolicyOptimizer
from tests.core.toys import ALGORITHMS, copied, drifting, improved, matching, one_step, optimizer, same

every = pytest.mark.parametrize("algorithm", ALGORITHMS)
both_kinds = pytest.mark.parametrize("discrete", [False, True], ids=["continuous", "discrete"])
QUICK: dict[str, dict[str, Any]] = {
    "ppo": {"epochs": 10},
    "trpo": {"max_kl": 0.05, "epochs": 10},
    "a2c": {"learning_rate": 0.02},
}
UPDATES = {"ppo": 10, "trpo": 10, "a2c": 60}


def test_every_algorithm_of_the_config_has_an_optimizer() -> None:
    assert PolicyConfig.__dataclass_fields__["algorithm"].metadata["options"] == ALGORITHMS


def shuffled(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """As good and bad as before, but not where it was deserved."""
    return np.random.default_rng(int(1e6 * abs(observations[0, 0]))).permutation(matching(observations, actions))


def taught(algorithm: str, discrete: bool, reward: Callable[..., np.ndarray]) -> float:
    """Mean reward, by `matching`, of what is learned from `reward`."""
    made = optimizer(algorithm, discrete=discrete, **QUICK[algorithm])
    for seed in range(UPDATES[algorithm]):
        improved(made, one_step(made.network, seed, reward))
    return float(one_step(made.network, 999, count=2000).rewards.mean())


@every
@both_kinds
def test_it_learns_what_is_rewarded_and_nothing_from_shuffled_rewards(algorithm: str, discrete: bool) -> None:
    untrained = optimizer(algorithm, discrete=discrete)
    before = float(one_step(untrained.network, 999, count=2000).rewards.mean())
    best = 1.0 if discrete else 0.0
    assert taught(algorithm, discrete, matching) > before + 0.5 * (best - before)
    assert taught(algorithm, discrete, shuffled) < before + 0.25 * (best - before)


def follows_drift(made: OnPolicyOptimizer) -> float:
    """Correlation of the values with what is observed, which the reward is proportional to."""
    observations = np.random.default_rng(5).standard_normal((500, 2)).astype(np.float32)
    with torch.no_grad():
        values = made.network.values(made.network.normalize(torch.as_tensor(observations)))
    return float(np.corrcoef(values.numpy(), observations[:, 0])[0, 1])


def with_values(algorithm: str) -> OnPolicyOptimizer:
    """Trained until its value function knows the reward. From then on gradient steps do next to nothing."""
    made = optimizer(algorithm, max_gradient=10.0, discount=0.9, minibatch=512)
    for seed in range(20 if algorithm != "a2c" else 100):
        improved(made, drifting(made.network, seed))
    assert follows_drift(made) > 0.9
    made._config = PolicyConfig(algorithm=algorithm, epochs=1, minibatch=4096, learning_rate=1e-9, discount=0.9)
    return made


@every
def test_the_value_function_follows_a_flipped_reward_at_once(algorithm: str) -> None:
    made = with_values(algorithm)
    for seed in range(2):
        improved(made, drifting(made.network, 200 + seed))
        assert follows_drift(made) > 0.9
    improved(made, drifting(made.network, 300, factor=-1.0))
    assert follows_drift(made) < -0.9


@every
def test_values_are_learned_in_units_of_the_returns(algorithm: str) -> None:
    """Else the value loss of a reward a hundred times as large would be ten thousand times as large."""
    made = with_values(algorithm)
    *_, small = improved(made, drifting(made.network, 400))
    for seed in range(6):
        *_, large = improved(made, drifting(made.network, 401 + seed, factor=100.0))
    assert large.value_loss < 3 * small.value_loss


def deviation(algorithm: str, entropy_bonus: float) -> float:
    made = optimizer(algorithm, entropy_bonus=entropy_bonus, **QUICK[algorithm])
    for seed in range(5):
        improved(made, one_step(made.network, seed))
    return float(made.network.policy_leaves[-1].detach().exp())


@every
def test_the_entropy_bonus_keeps_the_policy_exploring(algorithm: str) -> None:
    assert deviation(algorithm, entropy_bonus=1.0) > deviation(algorithm, entropy_bonus=0.0) + 0.05


def pushing(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """The more the harder the motor pushes, which takes no more than 1."""
    return actions[:, 0].clip(-1, 1)


def usual_push(excess_penalty: float) -> float:
    made = optimizer("ppo", excess_penalty=excess_penalty, **QUICK["ppo"])
    for seed in range(20):
        improved(made, one_step(made.network, seed, pushing))
    with torch.no_grad():
        means, _ = made.network.distribution(torch.randn((500, 2), generator=torch.Generator().manual_seed(0)))
    return float(means.mean())


def test_the_penalty_for_excess_keeps_mean_actions_near_what_motors_take() -> None:
    assert usual_push(excess_penalty=0.0) > 1.3
    assert 0.8 < usual_push(excess_penalty=10.0) < 1.1


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_reward_that_is_no_number_changes_nothing(algorithm: str, bad: float) -> None:
    made = optimizer(algorithm)
    batch = one_step(made.network, 0)
    batch.rewards[0, 17] = bad
    before = copied(made)
    with pytest.raises(NotFiniteError, match="policy: the reward"):
        list(made.update(batch))
    assert same(before, copied(made))


@every
def test_a_gradient_that_is_no_number_moves_no_weight(algorithm: str) -> None:
    made = optimizer(algorithm, minibatch=256)
    batch = one_step(made.network, 0)
    batch.actions[0, 17] = np.nan
    before = made.network.weights[: made.network.policy_size].clone()
    with pytest.raises(NotFiniteError, match="policy: the gradient"):
        list(made.update(batch))
    assert torch.equal(before, made.network.weights[: made.network.policy_size])


@every
def test_a_weight_that_is_no_number_is_told_before_anything_is_published(algorithm: str) -> None:
    made = optimizer(algorithm, learning_rate=1.0)
    made.optimizer.param_groups[0]["eps"] = float("nan")
    with pytest.raises(NotFiniteError, match="policy: a weight"):
        list(made.update(one_step(made.network, 0)))


@every
@both_kinds
def test_a_restored_policy_goes_on_exactly(algorithm: str, discrete: bool) -> None:
    made, restored = (optimizer(algorithm, seed, discrete, decay=1.0, steps=1000) for seed in (0, 8))
    improved(made, one_step(made.network, 0))
    state, rng = copied(made), made._rng.bit_generator.state
    improved(made, one_step(made.network, 1))
    restored.set_state(state)
    restored._rng.bit_generator.state = rng
    assert not same(copied(made), copied(restored))
    improved(restored, one_step(restored.network, 1))
    assert same(copied(made), copied(restored))


@every
@pytest.mark.parametrize("length", [{"steps": 1000}, {"steps": 10**12, "horizon": 1000}], ids=["headless", "window"])
def test_the_step_size_falls_to_its_share_at_the_planned_end(algorithm: str, length: dict[str, int]) -> None:
    made = optimizer(algorithm, learning_rate=0.01, decay=0.75, **length)
    batch = one_step(made.network, 0)
    found = []
    for env_steps in (0, 500, 1000, 5000):
        improved(made, RolloutBatchReady(**{**vars(batch), "env_steps": env_steps}))
        found.append(made.optimizer.param_groups[0]["lr"])
    assert found == pytest.approx([0.01, 0.01 * (1 - 0.375), 0.0025, 0.0025])


def test_inputs_are_normalised_by_all_that_was_seen() -> None:
    made = optimizer()
    seen = np.random.default_rng(0).normal((5, -3), (2, 0.5), (40, 30, 2)).astype(np.float32)
    made.observe(seen[:25])
    made.observe(seen[25:])
    assert made.network.mean.numpy() == pytest.approx(seen.mean((0, 1)), rel=1e-4)
    assert made.network.std.numpy() == pytest.approx(seen.std((0, 1)), rel=1e-4)


def test_rmsprop_moves_weights_as_torchs_does_to_the_last_digit_also_from_a_loaded_state() -> None:
    start, rng = torch.linspace(-1, 1, 50), torch.Generator().manual_seed(0)
    ours, theirs = start.clone(), start.clone()
    options = {"lr": 0.01, "alpha": 0.9, "eps": 1e-5}
    mine, its = RMSprop([ours], **options), torch.optim.RMSprop([theirs], **options)
    for step in range(20):
        if step == 10:
            mine, kept = RMSprop([ours], **options), optimizer_arrays(mine)
            load_optimizer(mine, kept)
        mine.param_groups[0]["lr"] = its.param_groups[0]["lr"] = 0.01 / (1 + step)
        ours.grad = torch.randn(50, generator=rng)
        theirs.grad = ours.grad.clone()
        mine.take_step(), its.step()
        assert torch.equal(ours, theirs)
    assert not torch.equal(ours, start) and mine.state[ours]["step"] == its.state[theirs]["step"] == 20
