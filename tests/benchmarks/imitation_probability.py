"""Comparison of the preference probability with that of `imitation`, an independent implementation.

    python3 tests/benchmarks/imitation_probability.py

Uses the standard library only; the two sides run in environments of their own. Making the peer's, `.venv-imitation`,
takes some minutes. Compares random pairs of segments, from ties to differences at which P is indistinguishable from
certainty; both sides assume 10 % of random answers. The peer clips differences at 50, where P is within 1e-21 of its
limit, and its discount of 1 makes a return a plain sum. Prints the largest difference of the two probabilities; the exit
code is 1 if it is above a millionth.
"""

from __future__ import annotations

import argparse
import array
import json
import math
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from run import PYTHON
from tests.benchmarks.imitation_pair import PEER
from tests.benchmarks.peers import end_with, last_line, set_up

_ERROR_RATE = 0.1
_PAIRS, _STEPS = 10_000, 40
_LIMIT = 1e-6
_LARGEST_SCALE = 1.5
"""Decimal logarithm of the largest reward of a step, approximately; returns then differ by hundreds."""


def write_rewards(path: Path) -> None:
    """Writes (_PAIRS, 2, _STEPS) float64 rewards whose scales span several decades; every tenth pair is a tie."""
    rng = random.Random(0)
    values = array.array("d")
    for number in range(_PAIRS):
        scale = 10 ** rng.uniform(-3, _LARGEST_SCALE)
        left, right = ([rng.gauss(0, scale) for _ in range(_STEPS)] for _ in range(2))
        values.extend(left + (left if number % 10 == 0 else right))
    path.write_bytes(values.tobytes())


def ours(rewards: Path) -> list[float]:
    import numpy as np
    import torch

    from core.reward.loss import preference_probability

    sums = torch.as_tensor(np.fromfile(rewards).reshape(-1, 2, _STEPS)).sum(-1)
    preference_probabilities: list[float] = preference_probability(sums[:, 0], sums[:, 1], _ERROR_RATE).tolist()
    return preference_probabilities


def peers(rewards: Path) -> list[float]:
    import numpy as np
    import torch
    from gymnasium.spaces import Box
    from imitation.algorithms.preference_comparisons import PreferenceModel
    from imitation.rewards.reward_nets import BasicRewardNet

    box = Box(-1, 1, (1,))
    model = PreferenceModel(BasicRewardNet(box, box), noise_prob=_ERROR_RATE, discount_factor=1.0)
    pairs = torch.as_tensor(np.fromfile(rewards).reshape(-1, 2, _STEPS))
    return [float(model.probability(left, right)) for left, right in pairs]


_SIDES = {"somersault": (PYTHON, ours), "imitation": (PEER.python, peers)}


def chances_of(side: str, rewards: Path) -> list[float]:
    """Runs this file in the environment of one side and returns its probabilities."""
    command = [str(_SIDES[side][0]), "-P", str(Path(__file__).resolve()), "--side", side, "--rewards", str(rewards)]
    probabilities: list[float] = last_line(command, str(rewards.parent))
    return probabilities


def compare() -> int:
    set_up(PEER)
    with tempfile.TemporaryDirectory() as folder:
        rewards = Path(folder) / "rewards"
        write_rewards(rewards)
        one, other = (chances_of(side, rewards) for side in _SIDES)
    largest = max(abs(a - b) for a, b in zip(one, other, strict=True))
    between = sum(0.051 < chance < 0.949 and chance != 0.5 for chance in other)
    print(f"{_PAIRS} pairs, P from {min(other):.6f} to {max(other):.6f}, {between} of them neither tied nor certain")
    print(f"largest difference: {largest:.3g}")
    return int(not (math.isfinite(largest) and largest <= _LIMIT))


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", choices=_SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--rewards", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    if options.side:
        print(json.dumps(_SIDES[options.side][1](options.rewards)))
        return 0
    return compare()


if __name__ == "__main__":
    end_with(main)
