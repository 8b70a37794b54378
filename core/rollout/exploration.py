"""Novelty reward for exploration before the first question is asked.

An untrained policy shows little worth asking about: a Hopper mostly falls. A policy that has sought rare states shows
many behaviours, some of them near to the desired one, so that far fewer answers suffice. This is the unsupervised
pre-training of Lee, Smith and Abbeel (PEBBLE, 2021), which is not in the paper.
"""

import torch

from core.types import Float32

_SAMPLE = 512
"""Observations of the batch that all others are compared with."""
_NEIGHBOUR = 5
"""Rank of the neighbour that counts; nearer ones are often of the same moment."""
_LIMIT = 10.0
"""Observations are clipped to this many standard deviations."""
_CHUNK = 16384
"""Rows of distances computed at once, of 2 kB each."""


def knn_entropy_bonus(observations: Float32) -> Float32:
    """Observations (T, N, o) -> (T, N): log(1 + distance to the fifth nearest of a sample of the batch).

    Distances are in standard deviations of the batch. Up to a constant, the mean is a nearest-neighbour estimate of the
    observations' entropy, so that a policy which maximizes it visits many different states.
    """
    steps, count, size = observations.shape
    rows = torch.as_tensor(observations.reshape(-1, size))
    rows = ((rows - rows.mean(0)) / rows.std(0, correction=0).clamp_min(1e-3)).clamp(-_LIMIT, _LIMIT)
    sample = rows[torch.linspace(0, len(rows) - 1, min(_SAMPLE, len(rows))).long()]
    rank = min(_NEIGHBOUR, len(sample))
    distances = torch.cat([torch.cdist(part, sample).kthvalue(rank).values for part in rows.split(_CHUNK)])
    return torch.log1p(distances).reshape(steps, count).numpy()
