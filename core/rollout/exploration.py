"""Exploration: a reward for novelty, and starts that show what the policy does not.

An untrained policy shows little worth asking about: a Hopper mostly falls. A policy that has sought rare states shows
many behaviours, some of them near to the desired one, so that far fewer answers suffice. This is the unsupervised
pre-training of Lee, Smith and Abbeel (PEBBLE, 2021), which is not in the paper.
"""

import numpy as np
import torch

from core.reward.normalization import standardize_members
from core.types import Float32

_SAMPLE = 512
"""Observations of the batch that all others are compared with."""
_NEIGHBOUR = 5
"""Rank of the neighbour that counts; nearer ones are often of the same moment."""
_LIMIT = 10.0
"""Observations are clipped to this many standard deviations."""
_BEST = 0.9
"""Quantile that the best tenth begins at."""
_FIRST_LEAD, _LEAD_RATE = 0.5, 0.04
"""Lead at first, and the weight of one batch in it."""
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


class StartVariety:
    """Decides whether starts that are turned over, tilted or thrown still show what the policy does not reach without them.

    It compares the best tenth of the robots after such starts with the best tenth of the others, by the predicted
    reward of one batch. A Hopper that is thrown turns backward long before it can leap; a Half-Cheetah that runs shows
    more than one that was thrown.

    lead: running difference of the two, in standard deviations of the predicted reward of a step
    """

    def __init__(self) -> None:
        self.lead = _FIRST_LEAD

    def shows_more(self, raw: Float32, varied: np.ndarray) -> bool:
        """Update the lead, and return whether it is positive; True if there is nothing to compare.

        raw: (M, T, N), each member's predictions of a batch; varied: (N,) bool, the robots after such starts
        """
        if not 0 < varied.sum() < len(varied):
            return True
        means = standardize_members(raw).mean(axis=(0, 1))
        best, others = (float(np.quantile(means[rows], _BEST)) for rows in (varied, ~varied))
        self.lead += (best - others - self.lead) * _LEAD_RATE
        return self.lead > 0
