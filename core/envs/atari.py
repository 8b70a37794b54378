"""Atari games as the paper's agents see them (A.2): stacks of four small grayscale pictures, without the score.

The learner sees one endless episode. When a game is over, the next one begins in the same step, and only the pictures
show it; those of the old game stay in the stack until new ones replace them. Points, penalties and scores are for the
oracle and the metrics.

The state of an emulator can't be saved, but a game is determined by its seed, the number of games played since the
seeding, and its actions. These are saved, and a resumed run replays them, which takes a few seconds, and continues exactly.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.envs.base import CaptureSchedule, FinishedEpisode, Step
from core.envs.emulators import HEIGHT, WIDTH, EmulatorStep, Rows, Screens, emulators
from core.io import image_codec
from core.io.image_codec import Pixels
from core.tasks.atari import GAME_STEPS, SIDE, STACK, AtariTask, GameInfo
from core.types import Float32, Observations

_SEEDS = 2**31 - 1
_GAMES_PER_SEED = 32
"""Number of games after which an emulator is seeded again.

Seeding takes as long as a few hundred steps, and after a resume all games since the seeding have to be started again.
"""
_KEPT = ("seeds", "games", "lengths", "scores", "returns", "sums")


class AtariVectorEnv:
    """N games. `states`: (N, ROW_BYTES) encoded colour pictures, zeros where none is recorded; (N, 0) without `capture`."""

    discrete = True

    def __init__(
        self,
        task: AtariTask,
        environments: int,
        rng: np.random.Generator,
        threads: int = 0,
        capture: CaptureSchedule | None = None,
    ) -> None:
        self.task = task
        self.count = environments
        self.divergences, self.varies_starts, self.varied = 0, False, np.zeros(environments, np.bool_)
        self._schedule, self._rng = capture, rng
        self._rows = np.arange(environments)
        in_colour = min(capture.environments, environments) if capture else 0
        self._emulators = emulators(task, environments, threads, in_colour)
        self._time = 0
        self._seeds, self._games, self._lengths = np.zeros((3, environments), np.int64)
        self._played = np.zeros((environments, GAME_STEPS), np.uint8)
        self._scores, self._returns = np.zeros((2, environments))
        self._sums = np.zeros((environments, len(task.figures)))
        self.states = np.zeros((environments, image_codec.ROW_BYTES if capture else 0), np.uint8)
        self.clip_available = np.ones(environments, np.bool_)
        self._games[:] = _GAMES_PER_SEED
        views = self._start_games(self._rows)
        self._stacks = np.repeat(self._blank_score(views.gray)[:, None], STACK, axis=1)
        """(N, STACK, SIDE, SIDE) uint8, replaced in each step."""
        self._capture(views)

    @property
    def sizes(self) -> tuple[int, int, int]:
        return STACK * SIDE * SIDE, self._emulators.actions, self.states.shape[1]

    @property
    def observations(self) -> Observations:
        """(N, STACK * SIDE * SIDE) uint8"""
        return self._stacks.reshape(self.count, -1)

    def close(self) -> None:
        """Do nothing: the emulators are freed with the last reference to them."""

    def _start_games(self, rows: Rows) -> Screens:
        """Start new games in `rows`; return the screens of all games."""
        self._games[rows] += 1
        self._lengths[rows], self._scores[rows], self._returns[rows], self._sums[rows] = 0, 0, 0, 0
        seeded = rows[self._games[rows] >= _GAMES_PER_SEED]
        others = rows[self._games[rows] < _GAMES_PER_SEED]
        if others.size:
            views = self._emulators.start(others)
        if seeded.size:
            self._games[seeded] = 0
            self._seeds[seeded] = self._rng.integers(_SEEDS, size=len(seeded))
            views = self._emulators.start(seeded, self._seeds[seeded])
        self._lives = views.lives
        return views

    def step(self, actions: Float32) -> Step:
        """Step all games with actions (N, a), each the one of its row with the largest value. No step ends an episode."""
        chosen = self.controls(actions)
        self._time += 1
        step = self._emulators.step(chosen)
        self._played[self._rows, self._lengths] = chosen
        self._lengths += 1
        rewards = self._rewards(step)
        views, self._lives = step.views, step.views.lives
        ended = np.flatnonzero(step.over | step.cut)
        finished = [self._figures(int(row)) for row in ended]
        self._observe(self._start_games(ended) if ended.size else views)
        never, none = np.zeros(self.count, np.bool_), self.observations[:0]
        return Step(self.observations, rewards, never, none, finished, ended, never)

    def controls(self, actions: Float32) -> Rows:
        """Convert actions (N, a) to indices (N,) into the game's minimal action set."""
        return actions.argmax(axis=1)

    def _rewards(self, step: EmulatorStep) -> Float32:
        """Compute the true rewards (N,), and add to the games' scores and measures."""
        lost = step.over | (step.views.lives < self._lives)
        info = GameInfo(step.points, step.memory)
        self._scores += step.points
        self._returns += self.task.counted(info)
        for column, figure in enumerate(self.task.figures.values()):
            self._sums[:, column] += figure(info)
        return (self.task.reward(info) - self.task.penalty * lost).astype(np.float32)

    def _figures(self, row: int) -> FinishedEpisode:
        steps = int(self._lengths[row])
        means = dict(zip(self.task.figures, (self._sums[row] / steps).tolist(), strict=True))
        return float(self._returns[row]), {
            "score_per_game": float(self._scores[row]),
            **means,
            "seconds_per_game": steps * self.task.step_seconds,
        }

    def _blank_score(self, pixels: Pixels) -> Pixels:
        """Black out the task's score boxes, in place, in pictures of any size: (n, h, w) or (n, h, w, 3) uint8."""
        for rows, columns in score_boxes(self.task, *pixels.shape[1:3]):
            pixels[:, rows, columns] = 0
        return pixels

    def _observe(self, views: Screens) -> None:
        self._stacks = np.concatenate([self._stacks[:, 1:], self._blank_score(views.gray)[:, None]], axis=1)
        self._capture(views)

    def _capture(self, views: Screens) -> None:
        """Encode the colour pictures of the environments that are recorded in this step; the others' states become zeros."""
        if self._schedule is None:
            return
        self.clip_available = self._schedule.rows(self._time, self.count)
        self.states = np.zeros_like(self.states)
        for row in np.flatnonzero(self.clip_available):
            picture = self._blank_score(views.colour[row : row + 1].copy())[0]
            self.states[row] = image_codec.encode_image(picture)

    def get_state(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, f"_{name}") for name in _KEPT},
            "time": np.array(self._time),
            "played": self._played[:, : self._lengths.max()],
            "stacks": self.observations.copy(),
        }

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """Replay all games, each started so late that all reach their saved steps at the same time."""
        for name in _KEPT:
            getattr(self, f"_{name}")[:] = arrays[name]
        self._time = int(arrays["time"])
        played = arrays["played"]
        steps = played.shape[1]
        self._played[:, :steps] = played
        for step in range(steps + 1):
            age = step - steps + self._lengths  # of each game; negative before its start
            if (fresh := np.flatnonzero(age == 0)).size:
                views = self._restart_games(fresh)
            if step < steps:
                actions = np.where(age < 0, 0, played[self._rows, age.clip(0)]).astype(np.int64)
                views = self._emulators.step(actions).views
        self._lives = views.lives
        self._stacks = np.array(arrays["stacks"]).reshape(self._stacks.shape)
        self._capture(views)

    def _restart_games(self, rows: Rows) -> Screens:
        """Start the saved games of `rows`: seed the emulators, then start as many games as there were since the seeding."""
        views = self._emulators.start(rows, self._seeds[rows])
        for game in range(1, int(self._games[rows].max()) + 1):
            views = self._emulators.start(rows[self._games[rows] >= game])
        return views


def score_boxes(task: AtariTask, height: int, width: int) -> list[tuple[slice, slice]]:
    """Return the rows and columns of the task's score boxes in pictures of this size, in pixels."""
    down, across = height / HEIGHT, width / WIDTH
    return [
        (
            slice(int(box.top * down), math.ceil(box.bottom * down)),
            slice(int(box.left * across), math.ceil(box.right * across)),
        )
        for box in task.blanked
    ]
