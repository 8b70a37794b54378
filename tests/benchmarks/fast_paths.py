"""Paired benchmark of the hand-written NumPy actor and the plain torch expression.

    python -m tests.benchmarks.fast_paths [--pairs 20]

Both forms act for twenty steps of 128 robots in turn, in one process and one thread. Prints the medians of their CPU
times and of the ratios. The path saves (1 - 1 / ratio) times the share of acting in a run; a path that saves less than
5 % of a run should be removed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from core.config import Config
from core.policy.actor_critic import GaussianActorCritic
from core.policy.numpy_actor import NumpyActor

OBSERVED, ACTED = 11, 3
"""Sizes of the Hopper."""


def acting(with_numpy: bool) -> Callable[[], object]:
    """Act for twenty steps of 128 environments."""
    config, start = Config(), torch.Generator().manual_seed(0)
    actor = GaussianActorCritic(OBSERVED, ACTED, config.policy.hidden, config.policy.initial_std, start)
    rng = np.random.default_rng(0)
    observations = rng.standard_normal((128, OBSERVED)).astype(np.float32)
    fast = NumpyActor(actor)

    @torch.no_grad()
    def by_torch() -> None:
        inputs = actor.normalize(torch.as_tensor(observations))
        actions, log_probs = actor.sample(actor.distribution(inputs), rng)
        actions.numpy(), log_probs.numpy()

    return lambda: [fast(observations, rng) if with_numpy else by_torch() for _ in range(20)]


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20, help="runs of each form (default 20)")
    torch.set_num_threads(1)
    fast, plain = acting(True), acting(False)
    fast(), plain()
    times = np.array([(seconds(fast), seconds(plain)) for _ in range(parser.parse_args().pairs)])
    ratio = statistics.median((times[:, 1] / times[:, 0]).tolist())
    milliseconds = 1000 * np.median(times, axis=0)
    print(f"NumPy {milliseconds[0]:.2f} ms, torch {milliseconds[1]:.2f} ms, torch / NumPy {ratio:.2f}")


if __name__ == "__main__":
    main()
