"""Exploration: a reward for novelty, and varied starts that show behaviour which the policy does not reach.

An untrained policy shows little worth asking about: a Hopper mostly falls. A policy that has sought rare states shows
many behaviours, some of them close to the desired one, so that far fewer answers suffice. This is the unsupervised
pre-training of Lee, Smith and Abbeel (PEBBLE, 2021), which is not in the paper.
"""

import numpy as np
import torch
from torch import Tensor

from core.reward.normalization import standardize_members
from core.types import Float32

_SAMPLE = 512
"""Number of observations of the batch with which all are compared."""
_NEIGHBOUR = 5
"""Rank of the neighbour whose distance is used; nearer ones are often from the same moment."""
_LIMIT = 10.0
"""Observations are clipped to this many standard deviations."""
_BEST = 0.9
"""Quantile at which the best tenth begins."""
_FIRST_LEAD, _LEAD_RATE = 0.5, 0.04
"""Initial lead, and the weight of one batch in it."""
_CHUNK = 16384
"""Number of rows of distances computed at once; each takes 2 kB."""


def knn_entropy_bonus(observations: Float32) -> Float32:
    """Return log(1 + distance to the fifth nearest of a sample of the batch), (T, N), for observations (T, N, o).

    Distances are in standard deviations of the batch. Up to a constant, the mean is a nearest-neighbour estimate of the
    observations' entropy, so that a policy that maximizes it visits many different states.
    """
    steps, count, size = observations.shape
    rows = torch.as_tensor(observations.reshape(-1, size))
    rows = ((rows - rows.mean(0)) / rows.std(0, correction=0).clamp_min(1e-3)).clamp(-_LIMIT, _LIMIT)
    sample = rows[torch.linspace(0, len(rows) - 1, min(_SAMPLE, len(rows))).long()]
    return torch.cat([log_distances(part, sample) for part in rows.split(_CHUNK)]).reshape(steps, count).numpy()


def log_distances(rows: Tensor, sample: Tensor) -> Tensor:
    """Return log(1 + distance to the fifth nearest row of `sample` (S, o)) for each of `rows` (B, o), (B,)."""
    return torch.log1p(torch.cdist(rows, sample).topk(min(_NEIGHBOUR, len(sample)), largest=False).values[:, -1])


class StartVariety:
    """Decides whether starts turned over, tilted or thrown still show behaviour that the policy does not reach otherwise.

    It compares the best tenth of the robots after such starts with the best tenth of the others, by the predicted
    reward of one batch. A thrown Hopper turns backward long before it can leap, whereas a running Half-Cheetah shows more
    than a thrown one.

    lead: running difference of the two, in standard deviations of the predicted reward of a step
    """

    def __init__(self) -> None:
        self.lead = _FIRST_LEAD

    def shows_more(self, raw: Float32, varied: np.ndarray) -> bool:
        """Update the lead, and return whether it is positive; True if there is nothing to compare.

        raw: (M, T, N), each member's predictions for a batch; varied: (N,) bool, whether a robot had such a start
        """
        if not 0 < varied.sum() < len(varied):
            return True
        means = standardize_members(raw).mean(axis=(0, 1))
        best, others = (float(np.quantile(means[rows], _BEST)) for rows in (varied, ~varied))
        self.lead += (best - others - self.lead) * _LEAD_RATE
        return self.lead > 0
