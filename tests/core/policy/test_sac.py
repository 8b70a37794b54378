"""Soft actor-critic: squashed actions, the replay memory, learning from rewards that change, and resuming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Independent, Normal, TanhTransform, TransformedDistribution

from core.config import Config, replaced
from core.errors import NotFiniteError
from core.events import RolloutBatchReady, without_prefix
from core.nn.stacked_mlp import StackedMLP
from core.nn.state import load_state_arrays, state_arrays
from core.policy.replay import Replay, Transitions
from core.policy.sac import SAC
from core.policy.squashed_policy import SquashedPolicy
from tests.core.builders import same, saved_state
from tests.core.policy_toys import matching, one_step

Reward = Callable[[Transitions], Tensor]
CPU = torch.device("cpu")


class Given:
    """A reward of replayed steps that a test gives."""

    def __init__(self, reward: Reward) -> None:
        self.reward = reward

    def rescale(self, replay: Replay, batch: RolloutBatchReady) -> None: ...

    def __call__(self, steps: Transitions) -> Tensor:
        return self.reward(steps)


def kept(steps: Transitions) -> Tensor:
    """Return the rewards of the batches."""
    return steps.rewards


def policy(seed: int = 0) -> SquashedPolicy:
    return SquashedPolicy(2, 1, 16, torch.Generator().manual_seed(seed))


def sac(
    reward: Any = None, seed: int = 0, rng: np.random.Generator | None = None, novelty: float = 0.0, **settings: Any
) -> SAC:
    """Return an optimizer for 2 observed numbers and 1 action, without foresight. settings: of PolicyConfig"""
    small = {"hidden": 16, "learning_rate": 2e-2, "discount": 0.0, "minibatch": 64, "steps_per_gradient": 8.0}
    changes = {f"policy__{name}": value for name, value in {**small, **settings}.items()}
    config = replaced(Config(), policy__algorithm="sac", reward__novelty=novelty, **changes)
    return SAC(policy(seed), config, rng or np.random.default_rng(seed), reward or Given(kept))


def train(made: SAC, batches: int, reward: Any = matching) -> None:
    for seed in range(batches):
        batch = one_step(made.network, seed, reward)
        list(made.update(batch))
        made.observe(batch.observations)


def measured_entropy(network: SquashedPolicy) -> float:
    """Return the mean entropy of an action, in nats."""
    inputs = network.normalize(torch.randn(4000, 2, generator=torch.Generator().manual_seed(0)))
    _, log_densities = network.sample(network.distribution(inputs), np.random.default_rng(0))
    return -log_densities.mean().item()


def result(made: SAC) -> float:
    """Return the mean of `matching` for actions with noise."""
    return float(one_step(made.network, 999, count=2000).rewards.mean())


def test_actions_are_squashed_gaussians() -> None:
    network, rng = policy(), np.random.default_rng(0)
    means, log_stds = torch.randn(2, 50, 1, generator=torch.Generator().manual_seed(1))
    noise = torch.as_tensor(rng.standard_normal((50, 1), np.float32))
    actions, log_densities = network.squash((means, log_stds), noise)
    reference = TransformedDistribution(Independent(Normal(means, log_stds.exp()), 1), TanhTransform(cache_size=1))
    assert torch.allclose(actions, torch.tanh(means + log_stds.exp() * noise))
    near = actions.abs().squeeze(1) < 0.99  # the reference cancels at the ends
    assert torch.allclose(log_densities[near], reference.log_prob(actions)[near], atol=1e-3)


def test_actions_far_beyond_the_ends_have_finite_densities() -> None:
    actions, log_densities = policy().squash((torch.full((1, 1), 60.0), torch.zeros(1, 1)), torch.zeros(1, 1))
    assert actions.item() == 1 and 100 < log_densities.item() < 130


def test_the_likeliest_action_has_no_noise_and_the_untrained_policy_seldom_rests() -> None:
    network, inputs = policy(), torch.randn(2000, 2, generator=torch.Generator().manual_seed(2))
    distribution = network.distribution(inputs)
    quiet, _ = network.sample(distribution, None)
    assert torch.equal(quiet, torch.tanh(distribution[0]))
    loud, _ = network.sample(distribution, np.random.default_rng(0))
    assert loud.abs().mean() > 0.6 and loud.abs().max() <= 1


def batch(first: float, steps: int = 3, count: int = 2, ends: Any = ()) -> RolloutBatchReady:
    """Return a batch whose observations are numbered: first + 10 * time + environment."""
    numbers = first + 10 * np.arange(steps + 1)[:, None] + np.arange(count)
    observations = np.repeat(numbers[..., None], 2, axis=2).astype(np.float32)
    ended = np.zeros((steps, count), np.bool_)
    for place in ends:
        ended[place] = True
    after = np.full((ended.sum(), 2), -1, np.float32)
    rewards = observations[:-1, :, 0]
    actions, nothing = rewards[..., None] / 100, np.zeros_like(rewards)
    return RolloutBatchReady(0, 0, observations[:-1], actions, nothing, rewards, ended, after, observations[-1])


def contents(memory: Replay) -> list[tuple[float, float]]:
    steps = memory.spread(100)
    assert torch.equal(steps.observations[:, 0], steps.rewards) and torch.equal(
        steps.actions[:, 0], steps.rewards / 100
    )
    return list(zip(steps.observations[:, 0].tolist(), steps.following[:, 1].tolist(), strict=True))


def test_each_step_is_followed_by_the_next_observation_or_the_one_before_the_reset() -> None:
    memory = Replay(100, 2, 1, CPU)
    memory.add(batch(0, ends=[(1, 0)]))
    assert contents(memory) == [(0, 10), (1, 11), (10, -1), (11, 21), (20, 30), (21, 31)]


def test_a_full_memory_replaces_its_oldest_steps() -> None:
    memory = Replay(8, 2, 1, CPU)
    memory.add(batch(0))
    memory.add(batch(100))
    assert sorted(contents(memory)) == [(20, 30), (21, 31), *[(n, n + 10) for n in (100, 101, 110, 111, 120, 121)]]
    memory.add(batch(200, steps=6))
    assert sorted(step for step, _ in contents(memory)) == [220, 221, 230, 231, 240, 241, 250, 251]


def test_minibatches_have_steps_of_the_whole_memory() -> None:
    memory = Replay(100, 2, 1, CPU)
    memory.add(batch(0))
    drawn, mask = memory.draw(np.random.default_rng(0), 200, 1)
    assert {*drawn.rewards.tolist()} == {0, 1, 10, 11, 20, 21} and mask.min() == 1
    assert torch.equal(drawn.following, drawn.observations + 10)


def runs(memory: Replay) -> set[tuple[float, ...]]:
    """Return the runs of at most three steps that can be drawn, as the rewards of their steps."""
    steps, mask = memory.draw(np.random.default_rng(0), 300, 3)
    pairs = zip(steps.rewards.view(3, 300).T.tolist(), mask.T.tolist(), strict=True)
    return {tuple(reward for reward, belongs in zip(*pair, strict=True) if belongs) for pair in pairs}


def test_a_run_has_successive_steps_of_one_robot_and_ends_with_its_episode_or_the_memory() -> None:
    memory = Replay(100, 2, 1, CPU)
    memory.add(batch(0, ends=[(1, 0)]))
    assert runs(memory) == {(0, 10), (10,), (20,), (1, 11, 21), (11, 21), (21,)}
    memory.add(batch(30, steps=1))  # it begins with the last observations of the first batch
    assert runs(memory) == {(0, 10), (10,), (20, 30), (30,), (1, 11, 21), (11, 21, 31), (21, 31), (31,)}


def test_a_run_does_not_pass_from_the_newest_step_to_the_oldest() -> None:
    memory = Replay(9, 2, 1, CPU)
    memory.add(batch(0, steps=4))
    memory.add(batch(40))
    assert runs(memory) == {
        (21, 31, 41),
        (30, 40, 50),
        (31, 41, 51),
        (40, 50, 60),
        (41, 51, 61),
        *[(50, 60), (51, 61), (60,), (61,)],
    }


@pytest.mark.parametrize("capacity", [8, 9, 100])
def test_a_restored_memory_has_the_same_steps_and_continues_at_the_same_place(capacity: int) -> None:
    memory, restored = Replay(capacity, 2, 1, CPU), Replay(capacity, 2, 1, CPU)
    for first in (0, 30, 200):  # the second continues the first
        memory.add(batch(first, ends=[(1, 0)]))
        restored.set_state(memory.get_state())
        assert contents(memory) == contents(restored) and runs(memory) == runs(restored)
    for one in (memory, restored):
        one.add(batch(300))
    assert contents(memory) == contents(restored)


def test_a_saved_memory_has_most_observations_only_once() -> None:
    memory = Replay(1000, 2, 1, CPU)
    for first in range(0, 900, 30):
        memory.add(batch(first))
    assert sum(array.size for array in memory.get_state().values()) < 4.2 * memory.count


def test_a_memory_of_other_sizes_is_refused() -> None:
    memory = Replay(8, 2, 1, CPU)
    memory.add(batch(0))
    for other in (Replay(4, 2, 1, CPU), Replay(8, 3, 1, CPU), Replay(8, 2, 2, CPU)):
        with pytest.raises(ValueError):
            other.set_state(memory.get_state())


def test_the_policy_learns_from_rewards_and_not_from_shuffled_ones() -> None:
    def shuffled(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.random.default_rng(0).permutation(matching(observations, actions))

    made, misled = sac(target_entropy=-1.0), sac(target_entropy=-1.0)
    train(made, 8)
    train(misled, 8, shuffled)
    assert result(made) > -0.5 and result(misled) < -0.9  # -1 is the mean for an action that is always 0


@pytest.mark.slow
def test_a_changed_reward_changes_the_worth_of_old_steps() -> None:
    """No new step is needed: the batches' own rewards are zero, and the last batch is small."""

    def near(wanted: float) -> Reward:
        return lambda steps: -(steps.actions[:, 0] - wanted).square()

    def nothing(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.zeros(len(actions))

    reward = Given(near(0.5))
    made = sac(reward, target_entropy=-1.5)
    train(made, 10, nothing)
    rest = torch.zeros(1, 2)
    assert made.network.sample(made.network.distribution(rest), None)[0].item() == pytest.approx(0.5, abs=0.15)
    reward.reward = near(-0.5)
    for _ in range(400):
        list(made.update(one_step(made.network, 0, nothing, count=1)))
    assert made.network.sample(made.network.distribution(rest), None)[0].item() == pytest.approx(-0.5, abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("entropy", [0.3, -1.0])
def test_the_temperature_keeps_the_entropy(entropy: float) -> None:
    made = sac(target_entropy=entropy, steps_per_gradient=4.0)
    train(made, 8)
    assert measured_entropy(made.network) == pytest.approx(entropy, abs=0.25)


@pytest.fixture(scope="module")
def narrow() -> SquashedPolicy:
    """A policy with an entropy of about -2."""
    made = sac(target_entropy=-2.0)
    train(made, 8)
    return made.network


@pytest.mark.parametrize(
    ("rewarded", "novelty", "scale", "fall"),
    [
        (2.0, 2.0, 1.0, 0.0),
        (2.0, 1.0, 1.0, 0.5),
        (2.0, 0.0, 1.0, 1.0),
        (2.0, 0.0, 0.7, 1.0),
        (2.0, 0.0, 0.4, 2.0),
        (0.0, 0.0, 1.0, 0.0),
        (0.0, 0.0, 0.7, 1.0),
        (0.0, 0.0, 0.4, 2.0),
        (0.0, 0.0, 0.3, 2.0),
    ],
)
def test_the_entropy_to_keep_falls_with_novelty_and_the_learning_rate(
    narrow: SquashedPolicy, rewarded: float, novelty: float, scale: float, fall: float
) -> None:
    """The temperature rises while the policy has less than the entropy to keep, and falls while it has more."""
    for kept_above in (-0.1, 0.1):
        target = measured_entropy(narrow) + fall + kept_above
        made = sac(target_entropy=target, minibatch=4096, steps_per_gradient=256.0, novelty=rewarded)
        load_state_arrays(made.network, state_arrays(narrow))
        before = made.get_state()["log_temperature"]
        list(made.update(replace(one_step(made.network, 0), novelty=novelty, learning_rate_scale=scale)))
        assert np.sign(made.get_state()["log_temperature"] - before) == np.sign(kept_above)


def linear(*members: tuple[float, float, float, float]) -> StackedMLP:
    """Return critics that are linear for inputs within ±10: factors of two observed numbers and the action, and an offset."""
    critics = StackedMLP(len(members), 3, 16, torch.Generator())
    with torch.no_grad():
        for weights in critics.parameters():
            weights.zero_()
        critics.biases[0].fill_(10)  # so that no unit is below zero
        for layer in (0, 1):
            critics.weights[layer][:, range(3), range(3)] = 1
        for number, (*factors, offset) in enumerate(members):
            critics.weights[2][number, :3, 0] = torch.tensor(factors)
            critics.biases[2][number] = offset - 10 * sum(factors)
    return critics


def with_critics(critics: StackedMLP, targets: StackedMLP, **settings: Any) -> SAC:
    """Return an optimizer with these critics and target critics, and a temperature of zero."""
    made = sac(**settings)
    named = {"critic_": state_arrays(critics), "target_": state_arrays(targets)}
    given = {f"{prefix}{name}": array for prefix, arrays in named.items() for name, array in arrays.items()}
    made.set_state({**made.get_state(), **given, "log_temperature": np.array([-100], np.float32)})
    return made


def test_critics_move_towards_reward_plus_discounted_lower_target_of_what_follows() -> None:
    """The reward is 1, and the targets of the observation (0, 4) that follows are 4 and 7: 1 + 0.5 * 4 = 3."""
    critics = linear((0, 0, 0, 3.01), (0, 0, 0, 2.99))
    made = with_critics(critics, linear((0, 1, 0, 0), (0, 1, 0, 3)), discount=0.5)
    step = np.zeros((1, 1, 2), np.float32), np.zeros((1, 1, 1), np.float32), np.zeros((1, 1), np.float32)
    after = np.array([[0, 4]], np.float32)
    list(made.update(RolloutBatchReady(0, 0, *step, np.ones((1, 1), np.float32), np.array([[True]]), after, after)))
    load_state_arrays(critics, without_prefix(made.get_state(), "critic_"))
    above, below = critics(torch.zeros(2, 1, 3)).flatten().tolist()
    assert above < 3.005 and below > 2.995


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_policy_follows_the_lower_critic(sign: int) -> None:
    critics = linear((0, 0, sign, 0), (0, 0, -sign, 10))
    made = with_critics(critics, critics)
    inputs = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    before, _ = made.network.sample(made.network.distribution(inputs), None)
    list(made.update(one_step(made.network, 0, count=8)))
    after, _ = made.network.sample(made.network.distribution(inputs), None)
    assert sign * (after - before).mean().item() > 0.01


@pytest.mark.slow
def test_values_contain_no_reward_for_the_entropy_that_is_kept() -> None:
    """An action's value is its own reward and as much again for all later ones, as with a discount of 0.5."""
    differences = []
    for seed in (0, 1):
        made = sac(seed=seed, discount=0.5, target_entropy=0.4)
        train(made, 10, lambda observations, actions: 4 * matching(observations, actions))
        critics, state = StackedMLP(2, 3, 16, torch.Generator()), made.get_state()
        load_state_arrays(critics, without_prefix(state, "critic_"))
        batch = one_step(made.network, 999, count=2000)
        inputs = made.network.normalize(torch.as_tensor(batch.observations[0]))
        values = critics(torch.cat([inputs, torch.as_tensor(batch.actions[0])], 1).expand(2, -1, -1))
        differences.append(values.mean().item() - 4 * float(batch.rewards.mean()) / (1 - 0.5))
        assert float(state["log_temperature"][0]) > 1  # so that the entropy would add more than 0.4 * e
    assert np.mean(differences) == pytest.approx(0, abs=0.5)


@pytest.mark.slow
def test_rewards_of_several_steps_are_added_up() -> None:
    """Small actions are worth most at once. The first one also decides the third reward, of which no observation tells."""

    def late(network: SquashedPolicy, seed: int) -> RolloutBatchReady:
        parts = [one_step(network, seed + 100 * time, lambda _, actions: -(actions[:, 0] ** 2)) for time in range(3)]
        fields = ("observations", "actions", "log_probs", "rewards")
        joined = [np.concatenate([getattr(part, name) for part in parts]) for name in fields]
        joined[3][2] += 6 * joined[1][0, :, 0]
        ends, after = np.arange(3)[:, None].repeat(256, 1) == 2, parts[0].last_observations
        return RolloutBatchReady(0, 0, *joined, ends, after, after)

    levels = []
    for return_steps in (2, 3):
        made = sac(discount=0.9, target_entropy=-1.0, return_steps=return_steps)
        for seed in range(4):
            list(made.update(late(made.network, seed)))
        inputs = torch.randn(500, 2, generator=torch.Generator().manual_seed(3))
        levels.append(made.network.sample(made.network.distribution(inputs), None)[0].mean().item())
    assert abs(levels[0]) < 0.25 and levels[1] > 0.5


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_reward_that_is_not_finite_changes_nothing(bad: float) -> None:
    made = sac()
    spoiled = one_step(made.network, 0)
    spoiled.rewards[0, 17] = bad
    before = saved_state(made)
    with pytest.raises(NotFiniteError, match="policy: the reward"):
        list(made.update(spoiled))
    assert same(before, saved_state(made))


def test_a_weight_that_is_not_finite_is_reported_by_the_update() -> None:
    made = sac(Given(lambda steps: steps.rewards * torch.nan))
    with pytest.raises(NotFiniteError, match="policy: a weight"):
        train(made, 1)


def test_a_restored_optimizer_continues_exactly() -> None:
    rngs = [np.random.default_rng(seed) for seed in (0, 8)]
    made, restored = (sac(seed=seed, rng=rng) for seed, rng in zip((0, 8), rngs, strict=True))
    train(made, 1)
    restored.set_state(saved_state(made))
    rngs[1].bit_generator.state = rngs[0].bit_generator.state
    more = one_step(made.network, 5)
    for one in (made, restored):
        list(one.update(more))
    assert same(saved_state(made), saved_state(restored))


def test_a_policy_from_another_session_begins_with_an_empty_memory() -> None:
    made, other = sac(), sac(seed=3)
    train(made, 1)
    state = {name: array for name, array in saved_state(made).items() if not name.startswith("replay_")}
    other.set_state(state)
    assert other.replay.count == 0 and torch.equal(other.network.weights, made.network.weights)
    train(other, 1)
    assert other.replay.count == 256


def test_the_memory_of_a_robot_with_many_observations_is_limited_in_bytes() -> None:
    memory = Replay(10_000_000, 1000, 20, CPU)
    assert 64e6 < memory.capacity * 4 * (2 * 1000 + 20 + 1) < 140e6
