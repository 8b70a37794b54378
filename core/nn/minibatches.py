"""Division of rows into minibatches of nearly equal size."""

import math
from itertools import pairwise

_SPARE = 0.1
"""Largest remainder, relative to `size`, that is distributed over the other parts."""


def minibatches(count: int, size: int) -> list[slice]:
    """Return slices that divide `count` rows into nearly equal parts of at most `size` rows, or up to 10% more.

    Parts of exactly `size` would leave a remainder with a noisier gradient that moves the weights just as far.
    """
    number = max(1, math.ceil(count / size - _SPARE))
    return [slice(start, end) for start, end in pairwise(count * part // number for part in range(number + 1))]
