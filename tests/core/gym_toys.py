"""A Gymnasium environment with behaviour chosen by a test."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any
from uuid import uuid4

import gymnasium
import numpy as np
from gymnasium.spaces import Box

NUMBERS = Box(-10, 10, (2,), np.float64)


class Walk(gymnasium.Env[Any, Any]):
    """Environment that counts its steps and ends after `life` of them. The reward is the first number of the action.

    It needs a library that one for all must start, as pygame: closing any environment shuts it down.
    """

    library_runs = False

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(
        self,
        render_mode: str | None = None,
        life: int = 1000,
        seen: Any = NUMBERS,
        done: Any = Box(np.float32([-2.0, 0.0]), np.float32([2.0, 10.0])),  # noqa: B008 - never changed
        fails_at: int = -1,
        nan_at: int = -1,
        fortune_at: int = -1,
        moody: bool = False,
        shown_at: Any = None,
        infos: Sequence[Any] = (),
        paid_in_arrays: bool = False,
    ) -> None:
        if shown_at is not None:
            self.metadata = {**self.metadata, "render_fps": shown_at}
        self.render_mode, self.observation_space, self.action_space = render_mode, seen, done
        self._life, self._fails_at, self._nan_at, self._fortune_at = life, fails_at, nan_at, fortune_at
        self._age, self._luck, self._moody = 0, 0.0, moody
        self._infos, self._paid_in_arrays, self._needs_library = cycle(infos or [{}]), paid_in_arrays, True

    def reset(self, **given: Any) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=given.get("seed"))
        self._age, self._luck = 0, uuid4().int % 1000 if self._moody else self.np_random.uniform()
        return self._seen(), next(self._infos)

    def _seen(self) -> np.ndarray:
        seen = np.array([np.nan if self._age == self._nan_at else self._age, self._luck])
        return np.resize(seen, self.observation_space.shape or (2,))

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        if self._age == self._fails_at:
            raise RuntimeError("the wheels came off")
        if self._age >= self._life:
            raise RuntimeError("a step after the end")
        self._age += 1
        reward = 1e39 if self._age == self._fortune_at else float(np.ravel(action)[0])
        paid = np.array([reward]) if self._paid_in_arrays else reward
        return self._seen(), paid, self._age >= self._life, False, next(self._infos)

    def render(self) -> np.ndarray:
        """Return a grey picture that gets brighter with each step."""
        if self._needs_library:
            Walk.library_runs, self._needs_library = True, False
        if not Walk.library_runs:
            raise RuntimeError("the library is not running")
        return np.full((60, 90, 3), min(250, 10 * self._age), np.uint8)

    def close(self) -> None:
        Walk.library_runs = False
