"""Environments in two parts that take turns: while one is being simulated, the other's step is looked at and put away.

Neither part waits for the other in any step, so a core that is done sooner has something to go on with. The halves are
the same on any machine, that the figures of a run may not depend on how many cores it had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from core.envs.base import Step, VectorEnv
from core.types import Float32, Observations

_ADDED_UP = "divergences"
"""How the name ends of what is the whole's, where parts have counts of their own."""


class SplitEnv:
    """As one environment of all their rows, one part's after the other's, for those that don't take turns."""

    def __init__(self, parts: Sequence[VectorEnv]) -> None:
        self.parts = tuple(parts)
        self.count = sum(part.count for part in parts)
        self.discrete, self.depth = parts[0].discrete, parts[0].depth
        ends = np.cumsum([part.count for part in parts]).tolist()
        self._rows = [slice(end - part.count, end) for part, end in zip(parts, ends, strict=True)]

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.parts[0].sizes

    @property
    def observations(self) -> Observations:
        return np.concatenate([part.observations for part in self.parts])

    @property
    def states(self) -> npt.NDArray[Any]:
        return np.concatenate([part.states for part in self.parts])

    @property
    def clip_available(self) -> npt.NDArray[np.bool_]:
        return np.concatenate([part.clip_available for part in self.parts])

    @property
    def divergences(self) -> int:
        return sum(part.divergences for part in self.parts)

    def begin(self, actions: Float32) -> None:
        for part, rows in zip(self.parts, self._rows, strict=True):
            part.begin(actions[rows])

    def step(self, actions: Float32) -> Step:
        """The parts' steps at once, where they were begun."""
        steps = [part.step(actions[rows]) for part, rows in zip(self.parts, self._rows, strict=True)]
        numbers = [rows.start + step.finished_rows for step, rows in zip(steps, self._rows, strict=True)]
        return Step(
            observations=np.concatenate([step.observations for step in steps]),
            true_rewards=np.concatenate([step.true_rewards for step in steps]),
            ended=np.concatenate([step.ended for step in steps]),
            end_observations=np.concatenate([step.end_observations for step in steps]),
            finished=[episode for step in steps for episode in step.finished],
            finished_rows=np.concatenate(numbers),
            diverged=np.concatenate([step.diverged for step in steps]),
        )

    def close(self) -> None:
        with ExitStack() as stack:  # all, whatever one of them fails of
            for part in self.parts:
                stack.callback(part.close)

    def get_state(self) -> dict[str, Any]:
        """As of an environment that is not divided."""
        return united([part.get_state() for part in self.parts])

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """ValueError where they are of another number of environments."""
        for part, own in zip(self.parts, divided(arrays, [part.count for part in self.parts]), strict=True):
            part.set_state(own)


def parts_of(env: VectorEnv) -> Sequence[VectorEnv]:
    """What takes turns, in the order of the rows; all of it, where it is not divided."""
    return env.parts if isinstance(env, SplitEnv) else (env,)


def united(states: Sequence[Mapping[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
    """Arrays with a row for each environment of a part, as those of all."""
    return {name: _joined(name, [state[name] for state in states]) for name in states[0]}


def divided(arrays: Mapping[str, npt.NDArray[Any]], counts: Sequence[int]) -> list[dict[str, npt.NDArray[Any]]]:
    """The parts' own, with so many environments each. ValueError where they are of another number in all."""
    if any(values.ndim and len(values) != sum(counts) for values in arrays.values()):
        raise ValueError(f"the state is not one of {sum(counts)} environments")
    found, first = [], 0
    for count in counts:
        own = {name: values[first : first + count] if values.ndim else values for name, values in arrays.items()}
        if first:
            own |= {name: np.zeros_like(values) for name, values in own.items() if name.endswith(_ADDED_UP)}
        found.append(own)
        first += count
    return found


def _joined(name: str, values: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Rows end to end, filled up with zeros where one part's are shorter; of what is no rows, the same in all parts."""
    if not values[0].ndim:
        return np.asarray(sum(values)) if name.endswith(_ADDED_UP) else values[0]
    longest = max(array.shape[1] if array.ndim > 1 else 0 for array in values)
    filled = [_filled(array, longest) if array.ndim > 1 else array for array in values]
    return np.concatenate(filled)


def _filled(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    missing = [(0, 0), (0, length - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
    return np.pad(array, missing)
