"""Small environments of pictures: a bright block that moves between columns, with rewards that rise to the right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from core.config import Config, RewardConfig, replaced
from core.envs.base import CaptureSchedule, Step
from core.io.segment_codec import CompressedSegment, compress_segment
from core.reward.image_ensemble import ImageEnsemble
from core.reward.trainer import RewardTrainer
from core.tasks.gymnasium import GymTask
from core.types import Choice, Preference, Query, Segment
from tests.core.builders import tiny

SHAPE = (2, 52, 52)
"""The smallest that four convolutions leave something of."""
PLACES = 6
TASK = GymTask(
    name="picture-block",
    title="Block",
    instruction="Choose the clip in which the block is farther to the right.",
    env_id="picture-block",
    rate=20.0,
    segment_steps=5,
    episode_steps=20,
    rest_steps=0,
    measure_name="place",
    measure_title="Mean place",
    pictures=SHAPE,
)


def drawn(places: np.ndarray) -> np.ndarray:
    """Draw pictures (..., height, width) of the block at places (...)."""
    columns = np.arange(SHAPE[2]) // 8 == places[..., None] + 0 * places[..., None]
    return np.broadcast_to(np.where(columns, 200, 0)[..., None, :], (*places.shape, *SHAPE[1:])).astype(np.uint8)


def block_segment(number: int, places: np.ndarray) -> CompressedSegment:
    """Return a segment. places (k + 1,): of the block before the first step and after each."""
    pictures, steps = drawn(places), len(places) - 1
    stacks = np.stack([pictures[:-1], pictures[1:]], axis=1).reshape(steps, -1)
    actions = np.eye(3, dtype=np.float32)[np.zeros(steps, np.int64)]
    plain = Segment(number, stacks, actions, np.zeros((steps, 0)), places[1:].astype(np.float32), number)
    return compress_segment(plain, pictures)


def block_preference(number: int) -> Preference:
    """Return a preference for the better of two random segments."""
    rng = np.random.default_rng(number)
    left, right = (block_segment(2 * number + i, rng.integers(0, PLACES, 5)) for i in range(2))
    better = [float(np.sum(side.true_rewards)) for side in (left, right) if side.true_rewards is not None]
    choice = Choice.LEFT if better[0] > better[1] else Choice.RIGHT if better[1] > better[0] else Choice.TIE
    return Preference(number, Query(number, left, right, 0.5), choice, "oracle", 0.0)


def block_trainer(seed: int = 0, rng: np.random.Generator | None = None, **settings: Any) -> RewardTrainer:
    config = RewardConfig(**{"members": 2, "hidden": 16, "minibatch": 16, "learning_rate": 3e-3, **settings})
    ensemble = ImageEnsemble(SHAPE, config, torch.Generator().manual_seed(seed))
    return RewardTrainer(ensemble, config, rng or np.random.default_rng(seed), torch.device("cpu"))


class BlockBatch:
    """Batch of N blocks; action 0 moves left, 2 right. The states are a colour picture if captured."""

    discrete = True
    divergences = 0
    varies_starts, varied = False, np.zeros(1, np.bool_)

    def __init__(
        self,
        task: GymTask,
        environments: int,
        rng: np.random.Generator,
        staggered: bool = True,
        capture: CaptureSchedule | None = None,
    ) -> None:
        self.count, self._rng, self._captured = environments, rng, capture is not None
        self._ages = np.arange(environments) % TASK.episode_steps if staggered else np.zeros(environments, np.int64)
        self._places = rng.integers(0, PLACES, (environments, 2))
        self._sums = np.zeros(environments)
        self.clip_available = np.ones(environments, np.bool_)
        self._look()

    def _look(self) -> None:
        self.observations = drawn(self._places).reshape(self.count, -1)
        colours = drawn(self._places[:, 1]).repeat(3, axis=-1).reshape(self.count, -1)
        self.states = colours if self._captured else colours[:, :0]

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.observations.shape[1], 3, self.states.shape[1]

    def step(self, actions: np.ndarray) -> Step:
        moved = np.clip(self._places[:, 1] + actions.argmax(1) - 1, 0, PLACES - 1)
        self._places = np.stack([self._places[:, 1], moved], axis=1)
        self._sums += moved
        self._ages = self._ages + 1
        ended = self._ages >= TASK.episode_steps
        self._look()
        finished = [(float(self._sums[i]), {"place": float(self._sums[i] / 20)}) for i in np.flatnonzero(ended)]
        end_observations = self.observations[ended]
        self._ages, self._sums = np.where(ended, 0, self._ages), np.where(ended, 0.0, self._sums)
        self._places[ended] = self._rng.integers(0, PLACES, (int(ended.sum()), 2))
        self._look()
        rows = np.flatnonzero(ended)
        never = np.zeros(self.count, np.bool_)
        return Step(self.observations, moved.astype(np.float32), ended, end_observations, finished, rows, never)

    def close(self) -> None: ...

    def get_state(self) -> dict[str, Any]:
        return {"places": self._places, "ages": self._ages, "sums": self._sums}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        self._places, self._ages = arrays["places"].copy(), arrays["ages"].copy()
        self._sums = arrays["sums"].copy()
        self._look()


def block_config(**changes: object) -> Config:
    """Return the config of a session of a few seconds: 8 blocks, 16 steps a batch."""
    small = {"task": TASK.name, "labels": 16, "steps": 8 * 16 * 8, "rollout__steps": 16, "reward__minibatch": 8}
    return replaced(tiny(), **{**small, "reward__epochs_first": 3, "policy__minibatch": 64, **changes})


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Return the mean difference of two pictures of bytes."""
    return float(np.abs(one.astype(int) - other.astype(int)).mean())
