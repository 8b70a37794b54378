"""Comparison of the preference probability with that of `imitation`, an independent implementation.

    python3 -m tests.benchmarks.imitation_probability

Uses the standard library only; the two sides run in environments of their own. Making the peer's, `.venv-imitation`,
takes some minutes. Compares random pairs of segments, from ties to differences at which P is indistinguishable from
certainty; both sides assume 10 % of random answers. The peer clips differences at 50, where P is within 1e-21 of its
limit, and its discount of 1 makes a return a plain sum. Prints the largest difference of the two probabilities; the exit
code is 1 if it is above a millionth.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from run import PYTHON
from tests.benchmarks.imitation_pair import PEER
from tests.benchmarks.peers import last_line, set_up

_ERROR_RATE = 0.1
_PAIRS, _STEPS = 10_000, 40
_LIMIT = 1e-6


def rewards() -> Any:
    """Return rewards (_PAIRS, 2, _STEPS) float64 whose scales span several decades; every tenth pair is a tie."""
    import torch

    start = torch.Generator().manual_seed(0)
    scales = 10 ** (4.5 * torch.rand((_PAIRS, 1, 1), generator=start, dtype=torch.float64) - 3)
    pairs = scales * torch.randn((_PAIRS, 2, _STEPS), generator=start, dtype=torch.float64)
    pairs[::10, 1] = pairs[::10, 0]
    return pairs


def ours() -> list[float]:
    from core.reward.loss import preference_probability

    left, right = rewards().sum(-1).T
    return [float(chance) for chance in preference_probability(left, right, _ERROR_RATE)]


def peers() -> list[float]:
    from gymnasium.spaces import Box
    from imitation.algorithms.preference_comparisons import PreferenceModel
    from imitation.rewards.reward_nets import BasicRewardNet

    box = Box(-1, 1, (1,))
    model = PreferenceModel(BasicRewardNet(box, box), noise_prob=_ERROR_RATE, discount_factor=1.0)
    return [float(model.probability(left, right)) for left, right in rewards()]


_SIDES = {"somersault": (PYTHON, ours), "imitation": (PEER.python, peers)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", choices=_SIDES, help="print the probabilities of one side as JSON")
    if side := parser.parse_args().side:
        print(json.dumps(_SIDES[side][1]()))
        return 0
    set_up(PEER)
    one, other = (last_line(python, Path(__file__).resolve(), "--side", side) for side, (python, _) in _SIDES.items())
    largest = max(abs(a - b) for a, b in zip(one, other, strict=True))
    between = sum(0.051 < chance < 0.949 and chance != 0.5 for chance in other)
    print(f"{_PAIRS} pairs, P from {min(other):.6f} to {max(other):.6f}, {between} of them neither tied nor certain")
    print(f"largest difference: {largest:.3g}")
    return int(not largest <= _LIMIT)


if __name__ == "__main__":
    sys.exit(main())
