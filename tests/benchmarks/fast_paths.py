"""Paired benchmark of the hand-written fast paths, each against its plain form.

    python -m tests.benchmarks.fast_paths [--pairs 20]

Runs the same work with and without one path in alternation, in one process and one thread, and prints the median ratio
of CPU times. `update` is a whole policy update, `acting` one step of all environments. A path's share
of a run is (1 - 1 / ratio) times the share of that work in the run; paths below 5 % of a run should go.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import torch

from core.config import Config, replaced
from core.events import RolloutBatchReady
from core.jobs.policy import OPTIMIZERS
from core.policy import actor_critic
from core.policy.actor_critic import GaussianActorCritic
from core.policy.numpy_actor import NumpyActor
from core.presets import merge_presets
from core.tasks import get_task

OBSERVED, ACTED = 11, 3
"""Sizes of the Hopper."""
Work = Callable[[], object]


def network(config: Config) -> GaussianActorCritic:
    start = torch.Generator().manual_seed(0)
    return GaussianActorCritic(OBSERVED, ACTED, config.policy.hidden, config.policy.initial_std, start)


def policy_update(algorithm: str) -> Work:
    """One update with the settings of the Hopper's backflip, on a random batch."""
    task = get_task("hopper-backflip")
    settings = merge_presets(task.presets, task.paper_presets, algorithm)
    config = replaced(Config(), **{**settings, "policy.target_kl": 1e9})
    made = OPTIMIZERS[algorithm](network(config), config, np.random.default_rng(0))
    rng, shape = np.random.default_rng(1), (config.rollout.steps, config.rollout.environments)
    observations = rng.standard_normal((*shape, OBSERVED)).astype(np.float32)
    with torch.no_grad():
        inputs = made.network.normalize(torch.as_tensor(observations.reshape(-1, OBSERVED)))
        actions, log_probs = (x.numpy() for x in made.network.sample(made.network.distribution(inputs), rng))
    batch = RolloutBatchReady(
        0,
        0,
        observations,
        actions.reshape(*shape, ACTED),
        log_probs.reshape(shape),
        rng.standard_normal(shape).astype(np.float32),
        np.zeros(shape, np.bool_),
        np.zeros((0, OBSERVED), np.float32),
        observations[-1],
    )
    return lambda: list(made.update(batch))


def acting(with_numpy: bool) -> Work:
    """Twenty steps of 128 environments."""
    actor, rng = network(Config()), np.random.default_rng(0)
    observations = rng.standard_normal((128, OBSERVED)).astype(np.float32)
    plain = NumpyActor(actor)

    @torch.no_grad()
    def by_torch() -> None:
        inputs = actor.normalize(torch.as_tensor(observations))
        actions, log_probs = actor.sample(actor.distribution(inputs), rng)
        actions.numpy(), log_probs.numpy()

    return lambda: [plain(observations, rng) if with_numpy else by_torch() for _ in range(20)]


def without(work: Work, target: object, name: str, plain: object) -> Work:
    """The same work with a fast path replaced by its plain form."""

    def replaced_work() -> None:
        with patch.object(target, name, plain):
            work()

    return replaced_work


def compare(title: str, fast: Work, plain: Work, pairs: int) -> None:
    fast(), plain()
    times: list[tuple[float, float]] = []
    for number in range(pairs):
        order = (fast, plain) if number % 2 else (plain, fast)
        seconds = {}
        for work in order:
            started = time.process_time()
            work()
            seconds[work] = time.process_time() - started
        times.append((seconds[fast], seconds[plain]))
    ratio = statistics.median(slow / quick for quick, slow in times)
    milliseconds = [1000 * statistics.median(column) for column in zip(*times, strict=True)]
    print(
        f"{title:34}fast {milliseconds[0]:8.2f} ms   plain {milliseconds[1]:8.2f} ms   plain / fast {ratio:.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20, help="runs of each form (default 20)")
    pairs = parser.parse_args().pairs
    torch.set_num_threads(1)
    for algorithm in OPTIMIZERS:
        update = policy_update(algorithm)
        compare(f"NumPy tanh, {algorithm} update", update, without(update, actor_critic, "tanh", torch.tanh), pairs)
    compare("NumpyActor, acting", acting(True), acting(False), pairs)


if __name__ == "__main__":
    main()
