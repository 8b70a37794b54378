"""Many Atari emulators stepped side by side: colour pictures and points, nothing of what a learner is shown of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import ale_py
import numpy as np
import numpy.typing as npt
from ale_py import roms
from gymnasium.vector import AutoresetMode

from core.errors import UserError
from core.pictures import Pixels
from core.tasks.atari import FRAME_SKIP, GAME_STEPS, NO_OPS, AtariTask

Rows = npt.NDArray[np.int64]
HEIGHT, WIDTH = 210, 160


@dataclass(frozen=True)
class Shot:
    """What one step of N emulators gave.

    pixels (N, 210, 160, 3) RGB: of each pixel and colour the greater of the step's last two frames, as the console
    draws some things in every other frame only (Mnih et al. 2015)
    points (N,) int64; lives (N,) int64; over (N,) bool: the game has ended; cut (N,) bool: its time was up
    memory (N, 128), or (N, 0) where it is not read
    """

    pixels: Pixels
    points: Rows
    lives: Rows
    over: npt.NDArray[np.bool_]
    cut: npt.NDArray[np.bool_]
    memory: npt.NDArray[np.uint8]


class Emulators(Protocol):
    count: int
    actions: int
    """How many the game has: its smallest set."""

    def start(self, rows: Rows, seeds: Rows | None = None) -> tuple[Pixels, Rows]:
        """New games in these: (N, 210, 160, 3) pictures and (N,) lives of all.

        A seed decides how this game of an emulator begins, and without one how the next ones do, whatever was played in
        between. It takes long: the emulator loads its game anew.
        """
        ...

    def step(self, actions: Rows) -> Shot:
        """(N,) numbers of actions, each for four frames. A game that is over must be started before its next step."""
        ...


def emulators(task: AtariTask, count: int, threads: int) -> Emulators:
    """UserError where the game's file is missing. threads: 0 for one a core."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    path = rom(task)
    if task.needs_memory:
        return InterfaceEmulators(path, count)
    return VectorEmulators(task.game, count, min(threads or os.cpu_count() or 1, count))


def rom(task: AtariTask) -> Path:
    """The game's file. Checked here, since the emulator ends the whole process where it can't read it."""
    try:
        path = roms.get_rom_path(task.game) if task.game in roms.get_all_rom_ids() else None
    except OSError:
        path = None
    if path is None:
        raise UserError(
            f"{task.title} needs the file {task.game}.bin, which the package ale-py brings: install that anew"
            " (pip install --force-reinstall ale-py)."
        )
    return Path(path)


class VectorEmulators:
    """ale-py's own, in C++ threads."""

    def __init__(self, game: str, count: int, threads: int) -> None:
        self.count = count
        self._games = ale_py.AtariVectorEnv(
            game,
            count,
            num_threads=threads,
            max_num_frames_per_episode=GAME_STEPS * FRAME_SKIP,
            autoreset_mode=AutoresetMode.NEXT_STEP,
            img_height=HEIGHT,
            img_width=WIDTH,
            grayscale=False,
            stack_num=1,
            frameskip=FRAME_SKIP,
            noop_max=NO_OPS + 1,  # it draws from 0 to one less
            reward_clipping=False,
            use_fire_reset=False,
        )
        self.actions = len(self._games.ale.get_action_set())
        self._memory = np.zeros((count, 0), np.uint8)

    def start(self, rows: Rows, seeds: Rows | None = None) -> tuple[Pixels, Rows]:
        chosen = np.zeros(self.count, np.bool_)
        chosen[rows] = True
        ordered = None if seeds is None else seeds[np.argsort(rows)].astype(np.int32)
        pixels, told = self._games.reset(seed=ordered, options={"reset_mask": chosen})
        return pixels[:, 0], told["lives"].astype(np.int64)

    def step(self, actions: Rows) -> Shot:
        pixels, points, over, cut, told = self._games.step(actions)
        lives = told["lives"].astype(np.int64)
        return Shot(pixels[:, 0], points.astype(np.int64), lives, over, cut, self._memory)


class InterfaceEmulators:
    """One after the other, for the console's memory, which the vector environment doesn't give. They use one core."""

    def __init__(self, path: Path, count: int) -> None:
        self.count = count
        self._games = [interface(path) for _ in range(count)]
        self._waits = [np.random.default_rng() for _ in range(count)]
        self._set = self._games[0].getMinimalActionSet()
        self.actions = len(self._set)
        self._pixels = np.zeros((count, HEIGHT, WIDTH, 3), np.uint8)
        self._before = np.zeros((HEIGHT, WIDTH, 3), np.uint8)

    def start(self, rows: Rows, seeds: Rows | None = None) -> tuple[Pixels, Rows]:
        for number, row in enumerate(rows):
            game = self._games[row]
            if seeds is not None:
                self._waits[row] = np.random.default_rng(seeds[number])
            game.reset_game()
            for _ in range(self._waits[row].integers(NO_OPS + 1)):
                game.act(ale_py.Action.NOOP)
            game.getScreenRGB(self._pixels[row])
        return self._pixels.copy(), self._lives()

    def step(self, actions: Rows) -> Shot:
        points = np.array([self._advance(row, self._set[action]) for row, action in enumerate(actions)], np.int64)
        over = np.array([game.game_over(with_truncation=False) for game in self._games])
        cut = np.array([game.game_truncated() for game in self._games])
        memory = np.stack([game.getRAM() for game in self._games])
        return Shot(self._pixels.copy(), points, self._lives(), over, cut, memory)

    def _advance(self, row: int, action: ale_py.Action) -> int:
        game, points = self._games[row], 0
        for _ in range(FRAME_SKIP - 1):
            points += game.act(action)
        game.getScreenRGB(self._before)
        points += game.act(action)
        game.getScreenRGB(self._pixels[row])
        np.maximum(self._pixels[row], self._before, out=self._pixels[row])
        return points

    def _lives(self) -> Rows:
        return np.array([game.lives() for game in self._games], np.int64)


def interface(path: Path) -> ale_py.ALEInterface:
    """One emulator, with its game loaded and at its beginning."""
    game = ale_py.ALEInterface()
    game.setFloat("repeat_action_probability", 0.0)
    game.setInt("max_num_frames_per_episode", GAME_STEPS * FRAME_SKIP)
    game.loadROM(path)
    return game
