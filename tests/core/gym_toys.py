"""A Gymnasium environment with behaviour chosen by a test."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import gymnasium
import numpy as np
from gymnasium.spaces import Box

NUMBERS = Box(-10, 10, (2,), np.float64)


class Walk(gymnasium.Env[Any, Any]):
    """Environment that counts its steps and ends after `life` of them. The reward is the first number of the action."""

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
    ) -> None:
        if shown_at is not None:
            self.metadata = {**self.metadata, "render_fps": shown_at}
        self.render_mode, self.observation_space, self.action_space = render_mode, seen, done
        self._life, self._fails_at, self._nan_at, self._fortune_at = life, fails_at, nan_at, fortune_at
        self._age, self._luck, self._moody = 0, 0.0, moody

    def reset(self, **given: Any) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=given.get("seed"))
        self._age, self._luck = 0, uuid4().int % 1000 if self._moody else self.np_random.uniform()
        return self._seen(), {}

    def _seen(self) -> np.ndarray:
        seen = np.array([np.nan if self._age == self._nan_at else self._age, self._luck])
        return np.resize(seen, self.observation_space.shape or (2,))

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self._age == self._fails_at:
            raise RuntimeError("the wheels came off")
        self._age += 1
        reward = 1e39 if self._age == self._fortune_at else float(np.ravel(action)[0])
        return self._seen(), reward, self._age >= self._life, False, {}

    def render(self) -> np.ndarray:
        """Return a grey picture that gets brighter with each step."""
        return np.full((60, 90, 3), min(250, 10 * self._age), np.uint8)
