"""Work divided between two threads, whose results equal those of undivided work with any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits
from torch import Tensor

from core.config import Config, replaced
from core.nn.stacked_mlp import CPU
from core.nn.threads import limit_threads, two_threads
from core.policy.actor_critic import ActorCritic, actor_critic
from core.policy.cnn_actor_critic import CNNActorCritic
from core.policy.on_policy import TrainingBatch
from core.policy.ppo import PPO, clipped_objective, value_loss
from core.reward.ensemble import RewardEnsemble
from core.reward.image_ensemble import ImageEnsemble
from core.reward.trainer import RewardTrainer
from core.types import Segment
from tests.core.builders import preference, query, same, segment

GAME = (4, 84, 84)
ROWS = 33
CONFIG = replaced(Config(), policy__max_gradient=1e9)
Case = tuple[ActorCritic, Tensor]


@pytest.mark.parametrize("threads", [1, 2])
def test_libraries_make_no_threads_of_their_own(threads: int) -> None:
    """NumPy rounds products differently with more threads, which would make results depend on the machine."""
    with threadpool_limits(2, "blas"):
        limit_threads(threads)
        assert torch.get_num_threads() == 1
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}


def start() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def robot(discrete: bool) -> Case:
    """Return a network with weights that bring some mean actions beyond the limits."""
    network = actor_critic(11, 3, discrete, CONFIG.policy, start())
    network.weights.data += 0.1 * torch.randn(network.weights.shape, generator=start())
    return network, torch.randn(ROWS, 11, generator=start())


def game() -> Case:
    pixels = torch.randint(0, 256, (ROWS, int(np.prod(GAME))), dtype=torch.uint8, generator=start())
    return CNNActorCritic(GAME, 6, "small", start(), dtype=torch.float32), pixels


CASES: dict[str, Callable[[], Case]] = {
    "gaussian": lambda: robot(False),
    "categorical": lambda: robot(True),
    "images": game,
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("threads", "rows"), [(1, ROWS), (2, ROWS), (2, 7), (2, 1)])
def test_the_gradient_of_a_ppo_step_in_two_threads_is_that_of_the_plain_loss(
    case: str, threads: int, rows: int
) -> None:
    network, inputs = CASES[case]()
    ppo = PPO(network, CONFIG, np.random.default_rng(0))
    batch = acted(network, inputs).rows(torch.arange(rows))
    gradient, kl = plain_gradient(ppo, batch)
    limit_threads(threads)
    with two_threads() as both:
        found = ppo.gradient_step(batch, both)
    assert float((network.weights.grad - gradient).norm()) < 1e-5 * float(gradient.norm())
    assert found == pytest.approx(kl, rel=1e-4, abs=1e-6)


def acted(network: ActorCritic, inputs: Tensor) -> TrainingBatch:
    """Return a batch of a slightly different policy, so that some ratios are clipped."""
    noise = start()
    with torch.no_grad():
        actions, log_probs = network.sample(network.distribution(inputs), np.random.default_rng(3))
    log_probs = log_probs.float() + 0.3 * torch.randn(ROWS, generator=noise)
    advantages, values, returns = torch.randn(3, ROWS, generator=noise)
    return TrainingBatch(inputs, actions.float(), log_probs, advantages, values, returns)


def plain_gradient(ppo: PPO, batch: TrainingBatch) -> tuple[Tensor, float]:
    """Return the gradient of the whole loss with plain operations, and the approximate KL divergence."""
    network, config = ppo.network, ppo.config
    distribution, values = network.evaluate(batch.inputs)
    log_ratio = network.log_probs(distribution, batch.actions) - batch.log_probs
    objective, kl = clipped_objective(log_ratio, batch.advantages, config.clip)
    entropy, error = network.entropy(distribution), value_loss(values, batch.returns)
    loss = error - objective - config.entropy_bonus * entropy
    gradients = torch.autograd.grad(loss, network.parameter_views)
    return torch.cat([g.reshape(-1) for g in gradients]), float(kl)


def test_a_prediction_in_two_threads_is_that_of_one_pass() -> None:
    ensemble = ImageEnsemble(GAME, Config().reward, start(), dtype=torch.float32)
    images = np.random.default_rng(0).integers(0, 256, (20, 16, int(np.prod(GAME))), dtype=np.uint8)
    predicted = []
    for threads in (1, 2):
        limit_threads(threads)
        predicted.append(ensemble.predict(images, np.zeros((20, 16, 1), np.float32)))
    with torch.no_grad():
        whole = ensemble.network(torch.as_tensor(images).reshape(-1, *GAME)).numpy().reshape(predicted[0].shape)
    assert (predicted[0] == predicted[1]).all()
    assert np.abs(predicted[0] - whole).max() < 1e-4 * whole.std()


def test_one_predictor_is_fitted_alike_in_one_thread_and_in_two() -> None:
    """The products of a single network are large enough for the libraries to use several threads."""
    fitted = []
    for threads in (1, 2):
        limit_threads(threads)
        draws = np.random.default_rng(0)
        config = replaced(Config(), reward__members=1, reward__inputs="observation", query__selection="random")
        trainer = RewardTrainer(RewardEnsemble(11, config.reward, start()), config.reward, draws, CPU)
        for number in range(16):
            left, right = (clip(2 * number + side, draws) for side in (0, 1))
            trainer.add(preference(number, pair=query(number, left, right)))
        assert len(list(trainer.epochs(100))) >= 100
        fitted.append(trainer.get_state())
    assert same(fitted[0], fitted[1])


def clip(number: int, draws: np.random.Generator) -> Segment:
    observations, actions = (draws.normal(size=(15, size)).astype(np.float32) for size in (11, 2))
    return replace(segment(number, 15), observations=observations, actions=actions)
