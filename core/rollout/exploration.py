"""What is new to the policy, as a reward to explore by before anybody is asked.

An untrained policy shows little worth asking about: of a Hopper mostly how it falls. One that has sought what it seldom
sees shows many things, a few of them near to what is wanted, so that far fewer answers lead there. This is the
unsupervised pre-training of Lee, Smith and Abbeel (PEBBLE, 2021), which is not in the paper.
"""

from __future__ import annotations

import torch

from core.types import Float32

_SAMPLE = 512
"""Observations that the others are compared with."""
_NEIGHBOUR = 5
"""The nearest ones are of the same moment."""
_FAR = 10.0
_AT_ONCE = 16384
"""Rows of distances, of 2 kB each."""


def knn_entropy_bonus(observations: Float32) -> Float32:
    """(T, N, o) -> (T, N): log(1 + distance to the fifth nearest of a sample of the batch).

    Distances are in standard deviations of the batch. On average it is, but for a constant, the entropy of the
    observations as their nearest neighbours tell it, so whoever maximises it spreads them out.
    """
    steps, count, size = observations.shape
    rows = torch.as_tensor(observations.reshape(-1, size))
    rows = ((rows - rows.mean(0)) / rows.std(0, correction=0).clamp_min(1e-3)).clamp(-_FAR, _FAR)
    sample = rows[torch.linspace(0, len(rows) - 1, min(_SAMPLE, len(rows))).long()]
    order = min(_NEIGHBOUR, len(sample))
    near = torch.cat([torch.cdist(part, sample).kthvalue(order).values for part in rows.split(_AT_ONCE)])
    return torch.log1p(near).reshape(steps, count).numpy()
