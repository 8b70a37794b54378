"""Division of rows into minibatches of nearly equal size."""

import math
from itertools import pairwise

_SPARE = 0.1
"""Rest, relative to `size`, up to which the other parts take it up."""


def minibatches(count: int, size: int) -> list[slice]:
    """Return slices that divide `count` rows into parts that are alike: of `size` rows or fewer, or up to a tenth more.

    Parts of exactly `size` would leave a rest, whose gradient is the noisiest and moves the weights as far as any other.
    """
    number = max(1, math.ceil(count / size - _SPARE))
    return [slice(start, end) for start, end in pairwise(count * part // number for part in range(number + 1))]
