"""The latest pictures of many games, without moving those that are there already."""

from __future__ import annotations

import numpy as np

from core.io.image_codec import Pixels
from core.tasks.atari import SIDE, STACK
from core.types import Observations

_LENGTH = 64
"""Pictures of a strip: each is 7 kB, and on a new strip those of the last stack are copied."""


class FrameStack:
    """Of each of N games the last four pictures: a stretch of a strip that new ones are put at the end of.

    To shift all stacks by one picture in each step took as long as a twentieth of the emulators' own work.
    """

    def __init__(self, first: Pixels) -> None:
        """first (N, 84, 84): four times the same."""
        self.restore(np.repeat(first[:, None], STACK, axis=1))

    def restore(self, stacks: Pixels) -> None:
        """stacks (N, 4, 84, 84), or rows of as many numbers."""
        self._strip = np.empty((len(stacks), _LENGTH, SIDE, SIDE), np.uint8)
        self._strip[:, :STACK] = stacks.reshape(-1, STACK, SIDE, SIDE)
        self._end = STACK

    def add(self, newest: Pixels) -> None:
        """newest (N, 84, 84)"""
        if self._end == _LENGTH:
            self.restore(self._strip[:, -STACK:])
        self._strip[:, self._end] = newest
        self._end += 1

    @property
    def rows(self) -> Observations:
        """(N, 4 * 84 * 84) as they are now; they stay so, as nothing is ever written over."""
        return self._strip[:, self._end - STACK : self._end].reshape(len(self._strip), -1)
