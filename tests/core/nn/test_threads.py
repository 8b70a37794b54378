"""What is computed in two lanes is what one undivided pass gives, however many threads there are for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits
from torch import Tensor

from core.config import Config
from core.nn import threads as parallel
from core.nn.threads import two_threads
from core.policy.actor_critic import ActorCritic, actor_critic
from core.policy.cnn_actor_critic import CNNActorCritic
from core.policy.on_policy import TrainingBatch
from core.policy.ppo import PPO, _value_loss
from core.reward.image_ensemble import ImageEnsemble
from core.system.child_process import job_threads

GAME = (4, 84, 84)
ROWS = 33
Case = tuple[ActorCritic, Tensor]


@pytest.fixture(autouse=True)
def one_thread_afterwards() -> Iterator[None]:
    yield
    parallel.set_num_threads(1)


@pytest.mark.parametrize("threads", [1, 2])
def test_libraries_make_no_threads_of_their_own(threads: int) -> None:
    """numpy's products are rounded in other ways with two, so figures would depend on the machine."""
    with threadpool_limits(2, "blas"):
        parallel.set_num_threads(threads)
        assert torch.get_num_threads() == 1
        assert {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"} == {1}


def start() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def robot(discrete: bool) -> Case:
    return actor_critic(11, 3, discrete, Config().policy, start()), torch.randn(ROWS, 11, generator=start())


def game() -> Case:
    seen = torch.randint(0, 256, (ROWS, int(np.prod(GAME))), dtype=torch.uint8, generator=start())
    return CNNActorCritic(GAME, 6, "small", start(), kind=torch.float32), seen


CASES: dict[str, Callable[[], Case]] = {
    "gaussian": lambda: robot(False),
    "categorical": lambda: robot(True),
    "pictures": game,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [ROWS, 7, 1])
def test_a_gradient_step_in_two_parts_is_that_of_the_whole(case: str, threads: int, rows: int) -> None:
    network, inputs = CASES[case]()
    ppo = PPO(network, Config(), np.random.default_rng(0))
    batch = prepared(network, inputs).rows(torch.arange(rows))
    gradient, told = undivided(ppo, batch)
    ppo._take_step = lambda: None  # type: ignore[method-assign]
    parallel.set_num_threads(threads)
    with two_threads() as both:
        told_in_two = ppo._step(batch, both)
    assert float((ppo._gradient - gradient).norm()) < 1e-5 * float(gradient.norm())
    assert told_in_two == pytest.approx(told, rel=1e-4, abs=1e-6)


def prepared(network: ActorCritic, inputs: Tensor) -> TrainingBatch:
    """As if a policy that differs a little had acted, so that some ratios are clipped."""
    noise = start()
    with torch.no_grad():
        actions, log_probs = network.sample(network.distribution(inputs), np.random.default_rng(3))
    odds = log_probs.float() + 0.3 * torch.randn(ROWS, generator=noise)
    gains, values, returns = torch.randn(3, ROWS, generator=noise)
    return TrainingBatch(inputs, actions.float(), odds, gains, values, returns)


def undivided(ppo: PPO, batch: TrainingBatch) -> tuple[Tensor, tuple[float, float, float]]:
    parameters, values = ppo.network.judged(batch.inputs)
    loss, kl, entropy = ppo._policy_loss(batch, parameters)
    value_loss = _value_loss(batch, values)
    gradients = torch.autograd.grad(loss + value_loss, ppo.network.leaves)
    return torch.cat([gradient.reshape(-1) for gradient in gradients]), (kl, entropy, float(value_loss.detach()))


def test_the_two_halves_of_a_prediction_are_those_of_one_pass() -> None:
    ensemble = ImageEnsemble(GAME, Config().reward, start(), kind=torch.float32)
    seen = np.random.default_rng(0).integers(0, 256, (20, 16, int(np.prod(GAME))), dtype=np.uint8)
    predicted = []
    for threads in (1, 2):
        parallel.set_num_threads(threads)
        predicted.append(ensemble.predict(seen, None))
    with torch.no_grad():
        whole = ensemble.network(torch.as_tensor(seen).reshape(-1, *GAME)).numpy().reshape(predicted[0].shape)
    assert (predicted[0] == predicted[1]).all()
    assert np.abs(predicted[0] - whole).max() < 1e-4 * whole.std()


@pytest.mark.parametrize(
    ("job", "cores", "threads"),
    [("policy", 6, 2), ("reward", 64, 2), ("policy", 5, 1), ("rollout", 64, 1), ("clips", 64, 1), ("reward", None, 1)],
)
def test_what_learns_in_a_window_has_two_lanes_where_there_are_cores_for_them(
    monkeypatch: pytest.MonkeyPatch, job: str, cores: int | None, threads: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert job_threads(job) == threads
