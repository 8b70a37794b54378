"""Atari games as the paper's agents see them (A.2): small gray pictures, four of them stacked, without the score.

For the learner all is one episode without end. When a game is over, the next begins in the same step, and nothing tells
of it but the pictures; those of the old game stay in the stack until new ones push them out. Points, penalties and
scores go to the oracle and the metrics.

An emulator that fails gives way to a new one, and its game to a new game, which policy and predictor notice no more of
than of any other end. Where ale-py doesn't tell which it was (core.envs.emulators) all games begin anew.

An emulator can't be saved here, but it can be made to play again: a game is decided by its seed, how many games came
between, and its actions. These are what is kept, and a resumed run goes on exactly, after some seconds of playing them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.envs.base import CaptureSchedule, Step
from core.envs.emulators import HEIGHT, WIDTH, Emulators, EmulatorStep, Rows, Screens, emulators
from core.envs.frame_stack import FrameStack
from core.errors import UserError
from core.io import image_codec
from core.io.image_codec import Pixels
from core.tasks.atari import GAME_STEPS, SIDE, STACK, AtariTask, GameInfo
from core.types import Float32, Observations

log = logging.getLogger(__name__)
_SEEDS = 2**31 - 1
_GAMES_A_SEED = 32
"""Seeding takes as long as playing a few hundred steps; and many games since then would take long to begin again."""
_KEPT = ("seeds", "games", "lengths", "scores", "returns", "sums")
_FAILURES = 3
"""So often in a row an emulator may fail before it is no accident."""


class AtariVectorEnv:
    """N games. `states` (N, ROW) are pictures of those filmed now; (N, 0) where none ever are."""

    discrete = True
    depth = STACK

    def __init__(
        self,
        task: AtariTask,
        environments: int,
        rng: np.random.Generator,
        threads: int = 0,
        film: CaptureSchedule | None = None,
    ) -> None:
        self.task = task
        self.count = environments
        self.divergences = 0
        self._film, self._rng, self._threads = film, rng, threads
        self._rows = np.arange(environments)
        self._emulators = self._new_emulators()
        self._time = 0
        self._failed = np.zeros(environments, np.int64)
        """How often in a row each emulator has."""
        self._seeds, self._games, self._lengths = np.zeros((3, environments), np.int64)
        self._played = np.zeros((environments, GAME_STEPS), np.uint8)
        self._scores, self._returns = np.zeros((2, environments))
        self._sums = np.zeros((environments, len(task.figures)))
        self.states = np.zeros((environments, image_codec.ROW if film else 0), np.uint8)
        self.clip_available = np.ones(environments, np.bool_)
        self._begin()

    def _new_emulators(self) -> Emulators:
        in_colour = min(self._film.environments, self.count) if self._film else 0
        return emulators(self.task, self.count, self._threads, in_colour)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Of a stack of pictures, an action and a colour picture."""
        return STACK * SIDE * SIDE, self._emulators.actions, self.states.shape[1]

    def close(self) -> None:
        """The emulators go with the last reference to them."""

    def _begin(self) -> None:
        """New games in all, and stacks of their first picture."""
        self._games[:] = _GAMES_A_SEED
        views = self._new_games(np.arange(self.count))
        self._stacks = FrameStack(self._blanked(views.gray))
        self._take_pictures(views)

    @property
    def observations(self) -> Observations:
        return self._stacks.rows

    def _new_games(self, rows: Rows, in_new: bool = False) -> Screens:
        """New games in these, `in_new` emulators all; and where one fails in that, again in a new one.

        UserError where that goes on.
        """
        while True:
            try:
                if in_new:
                    self._emulators = self._new_emulators()
                views = self._start(rows)
            except RuntimeError as error:
                rows, in_new = self._lost(dict.fromkeys(range(self.count), error)), True
                continue
            if not views.failures:
                return views
            rows, in_new = self._lost(views.failures), False

    def _lost(self, failures: Mapping[int, RuntimeError]) -> Rows:
        """Where a game is lost, to begin anew from a seed; nothing of the old is reported. UserError where it is no
        accident any more."""
        rows = np.array(sorted(failures), np.int64)
        if not rows.size:
            return rows
        self.divergences += 1
        self._failed[rows] += 1
        self._games[rows] = _GAMES_A_SEED
        error = failures[int(rows[0])]
        if self._failed.max() >= _FAILURES:
            raise UserError(f"The emulator of {self.task.title} keeps failing: {error}.") from error
        games = "a new game begins" if len(rows) == 1 else f"{len(rows)} new games begin"
        log.warning("The emulator of %s failed (%s): %s.", self.task.title, error, games)
        return rows

    def _start(self, rows: Rows) -> Screens:
        """New games in these."""
        self._games[rows] += 1
        self._lengths[rows], self._scores[rows], self._returns[rows], self._sums[rows] = 0, 0, 0, 0
        seeded = rows[self._games[rows] >= _GAMES_A_SEED]
        others = rows[self._games[rows] < _GAMES_A_SEED]
        failures: dict[int, RuntimeError] = {}
        if others.size:
            views = self._emulators.start(others)
            failures |= views.failures
        if seeded.size:
            self._games[seeded] = 0
            self._seeds[seeded] = self._rng.integers(_SEEDS, size=len(seeded))
            views = self._emulators.start(seeded, self._seeds[seeded])
            failures |= views.failures
        self._lives = views.lives
        return replace(views, failures=failures)

    def step(self, actions: Float32) -> Step:
        """actions (N, a): the largest is taken. No step ever ends an episode."""
        chosen = actions.argmax(axis=1)
        self._time += 1
        try:
            shot = self._emulators.step(chosen)
        except RuntimeError as error:
            return self._all_lost(error)
        lost = self._lost(shot.views.failures)
        sound = np.ones(self.count, np.bool_)
        sound[lost] = False
        self._failed[sound] = 0
        self._played[self._rows, self._lengths] = chosen
        self._lengths += 1
        rewards = self._rewards(shot)
        rewards[lost] = 0
        views, self._lives = shot.views, shot.views.lives
        over = shot.over | shot.cut
        ended = np.flatnonzero(over)
        finished = [self._finish(int(row)) for row in ended]
        if (begun := np.flatnonzero(over | ~sound)).size:
            views = self._new_games(begun)
        self._look(views)
        return self._step(rewards, finished, ended)

    def _step(self, rewards: Float32, finished: list[tuple[float, dict[str, float]]], rows: Rows) -> Step:
        never, none = np.zeros(self.count, np.bool_), self.observations[:0]
        diverged = self._lengths == 0
        diverged[rows] = False  # these games have ended, and not been lost
        return Step(self.observations, rewards, never, none, finished, rows, diverged)

    def _all_lost(self, error: RuntimeError) -> Step:
        """It isn't told which of them failed."""
        rows = self._lost(dict.fromkeys(range(self.count), error))
        self._look(self._new_games(rows, in_new=True))
        return self._step(np.zeros(self.count, np.float32), [], np.zeros(0, np.int64))

    def _rewards(self, shot: EmulatorStep) -> Float32:
        lost = shot.over | (shot.views.lives < self._lives)
        moment = GameInfo(shot.points, lost, shot.memory)
        self._scores += shot.points
        self._returns += self.task.counted(moment)
        for column, figure in enumerate(self.task.figures.values()):
            self._sums[:, column] += figure(moment)
        return (self.task.reward(moment) - self.task.penalty * lost).astype(np.float32)

    def _finish(self, row: int) -> tuple[float, dict[str, float]]:
        score, steps = float(self._scores[row]), int(self._lengths[row])
        means = dict(zip(self.task.figures, (self._sums[row] / steps).tolist(), strict=True))
        return float(self._returns[row]), {
            "score_per_game": score,
            **means,
            "seconds_per_game": steps * self.task.step_seconds,
        }

    def _blanked(self, pixels: Pixels) -> Pixels:
        """(N, h, w) or (N, h, w, 3) of any size; all that a box touches is black, in place."""
        down, across = pixels.shape[1] / HEIGHT, pixels.shape[2] / WIDTH
        for box in self.task.blanked:
            rows = slice(int(box.top * down), math.ceil(box.bottom * down))
            pixels[:, rows, int(box.left * across) : math.ceil(box.right * across)] = 0
        return pixels

    def _look(self, views: Screens) -> None:
        """They become the newest of each stack."""
        self._stacks.add(self._blanked(views.gray))
        self._take_pictures(views)

    def _take_pictures(self, views: Screens) -> None:
        """In colour, of each that is filmed now; those that are not lose theirs."""
        if self._film is None:
            return
        self.clip_available = self._film.rows(self._time, self.count)
        self.states = np.zeros_like(self.states)
        for row in np.flatnonzero(self.clip_available):
            self.states[row] = image_codec.encoded(self._blanked(views.colour[row : row + 1].copy())[0])

    def get_state(self) -> dict[str, Any]:
        """Of each game its seed and actions, and what was added up and seen of it."""
        kept = {name: getattr(self, f"_{name}") for name in _KEPT}
        counters = {"time": np.array(self._time), "divergences": np.array(self.divergences)}
        return {
            **kept,
            **counters,
            "played": self._played[:, : self._lengths.max()],
            "stacks": self.observations.copy(),
        }

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """Plays every game again up to where it was, all ending together."""
        for name in _KEPT:
            getattr(self, f"_{name}")[:] = arrays[name]
        self._time, self.divergences = int(arrays["time"]), int(arrays["divergences"])
        played = arrays["played"]
        steps = played.shape[1]
        self._played[:, :steps] = played
        for step in range(steps + 1):
            begun = step - steps + self._lengths
            if (fresh := np.flatnonzero(begun == 0)).size:
                views = self._begun_again(fresh)
            if step < steps:
                actions = np.where(begun < 0, 0, played[self._rows, begun.clip(0)]).astype(np.int64)
                views = _sound(self._emulators.step(actions).views)
        self._lives = views.lives
        self._stacks.restore(arrays["stacks"])
        self._take_pictures(views)

    def _begun_again(self, rows: Rows) -> Screens:
        """The present games of these, at their start."""
        begun = _sound(self._emulators.start(rows, self._seeds[rows]))
        for game in range(1, int(self._games[rows].max()) + 1):
            begun = _sound(self._emulators.start(rows[self._games[rows] >= game]))
        return begun


def _sound(views: Screens) -> Screens:
    """Raises what an emulator failed of: while games are played again, a new one would not be the one that was kept."""
    for error in views.failures.values():
        raise error
    return views
