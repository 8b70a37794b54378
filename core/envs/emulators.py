"""Many Atari emulators stepped together: their screens, points and memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ale_py
import cv2
import numpy as np
import numpy.typing as npt
from ale_py import roms
from gymnasium.vector import AutoresetMode

from core.errors import UserError
from core.io.image_codec import Pixels
from core.system.resources import available_cores
from core.tasks.atari import FRAME_SKIP, GAME_STEPS, NO_OPS, SIDE, AtariTask
from core.version import PYTHON

Rows = npt.NDArray[np.int64]
HEIGHT, WIDTH = 210, 160


@dataclass(frozen=True)
class Screens:
    """Pictures of the screens. Each pixel is the maximum over the last two frames of the step, as the console draws some
    objects in every other frame only (Mnih et al. 2015).

    gray (N, 84, 84): luminance, reduced in size; colour (F, 210, 160, 3): RGB, of the first F emulators
    """

    gray: Pixels
    colour: Pixels
    lives: Rows


@dataclass(frozen=True)
class EmulatorStep:
    """Result of one step of N emulators.

    points (N,) int64; over (N,) bool: the game has ended; cut (N,) bool: the game reached its time limit
    memory (N, 128) uint8: the console's memory, or (N, 0) if the task does not read it
    """

    views: Screens
    points: Rows
    over: npt.NDArray[np.bool_]
    cut: npt.NDArray[np.bool_]
    memory: npt.NDArray[np.uint8]


def emulators(task: AtariTask, count: int, threads: int, in_colour: int = 0) -> Emulators:
    """Return emulators of the task's game, in this process.

    threads: number of C++ threads, if the task does not read the console's memory; 0 for one per core
    in_colour: number of emulators, from the first on, that also return colour pictures

    Raises UserError if the game's file is missing.
    """
    path = rom(task)
    if task.needs_memory:
        return InterfaceEmulators(path, count, in_colour)
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    return VectorEmulators(task.game, count, min(threads or available_cores(), count), in_colour)


def rom(task: AtariTask) -> Path:
    """Return the path of the game's file. It is checked here: an emulator that can't read it ends the whole process."""
    try:
        path = roms.get_rom_path(task.game) if task.game in roms.get_all_rom_ids() else None
    except OSError:
        path = None
    if path is None:
        raise UserError(
            f"{task.title} needs the file {task.game}.bin, which the package ale-py includes: reinstall it"
            f" ({PYTHON} -m pip install --force-reinstall ale-py)."
        )
    return Path(path)


class VectorEmulators:
    """ale-py's vector of emulators, in C++ threads. It returns grayscale or colour, so games seen in colour run twice.

    actions: number of actions in the game's minimal action set
    """

    def __init__(self, game: str, count: int, threads: int, in_colour: int = 0) -> None:
        self._games = _vector(game, count, threads, SIDE, SIDE, grayscale=True)
        self._in_colour = in_colour
        self._colour = _vector(game, in_colour, threads, HEIGHT, WIDTH, grayscale=False) if in_colour else None
        self._pictures = np.zeros((0, HEIGHT, WIDTH, 3), np.uint8)
        self.actions = len(self._games.ale.get_action_set())
        self._memory = np.zeros((count, 0), np.uint8)

    def start(self, rows: Rows, seeds: Rows | None = None) -> Screens:
        """Start new games in `rows`; return the screens of all games.

        A seed determines how this game begins, and how the emulator's next games without a seed begin, whatever is
        played in between. Seeding is slow, because the emulator reloads its game.
        """
        if self._colour is not None and (rows < self._in_colour).any():
            seen = rows < self._in_colour
            pictures, _ = _restart(self._colour, rows[seen], None if seeds is None else seeds[seen])
            self._pictures = pictures[:, 0]
        gray, infos = _restart(self._games, rows, seeds)
        return Screens(gray[:, 0], self._pictures, infos["lives"].astype(np.int64))

    def step(self, actions: Rows) -> EmulatorStep:
        """Take the actions with these indices (N,), each for four frames. A game that is over must be started first."""
        if self._colour is not None:
            self._colour.send(actions[: self._in_colour])
        self._games.send(actions)
        if self._colour is not None:
            self._pictures = self._colour.ale.recv()[0][:, 0]
        gray, points, over, cut, infos = self._games.ale.recv()
        views = Screens(gray[:, 0], self._pictures, infos["lives"].astype(np.int64))
        return EmulatorStep(views, points.astype(np.int64), over, cut, self._memory)


def _vector(game: str, count: int, threads: int, height: int, width: int, grayscale: bool) -> ale_py.AtariVectorEnv:
    return ale_py.AtariVectorEnv(
        game,
        count,
        num_threads=min(threads, count),
        max_num_frames_per_episode=GAME_STEPS * FRAME_SKIP,
        autoreset_mode=AutoresetMode.NEXT_STEP,
        img_height=height,
        img_width=width,
        grayscale=grayscale,
        stack_num=1,
        frameskip=FRAME_SKIP,
        noop_max=NO_OPS + 1,  # exclusive upper bound of the random number
        reward_clipping=False,
        use_fire_reset=False,
    )


def _restart(games: ale_py.AtariVectorEnv, rows: Rows, seeds: Rows | None) -> Any:
    chosen = np.zeros(games.num_envs, np.bool_)
    chosen[rows] = True
    ordered = None if seeds is None else seeds[np.argsort(rows)].astype(np.int32)
    return games.reset(seed=ordered, options={"reset_mask": chosen})


class InterfaceEmulators:
    """Emulators stepped one after the other on one core, for tasks that read the console's memory.

    ale-py's vector environment does not return that memory.
    """

    def __init__(self, path: Path, count: int, in_colour: int = 0) -> None:
        self._games = [interface(path) for _ in range(count)]
        self._waits = [np.random.default_rng() for _ in range(count)]
        self._set = self._games[0].getMinimalActionSet()
        self.actions = len(self._set)
        self._gray = np.zeros((count, SIDE, SIDE), np.uint8)
        self._pictures = np.zeros((in_colour, HEIGHT, WIDTH, 3), np.uint8)
        self._points, self._lives = np.zeros((2, count), np.int64)
        self._over, self._cut = np.zeros((2, count), np.bool_)
        self._memory = np.zeros((count, self._games[0].getRAMSize()), np.uint8)

    def start(self, rows: Rows, seeds: Rows | None = None) -> Screens:
        if seeds is not None:
            for row, seed in zip(rows, seeds, strict=True):
                self._waits[row] = np.random.default_rng(seed)
        for row in rows.tolist():
            self._begin(row)
        return self._views()

    def step(self, actions: Rows) -> EmulatorStep:
        self._points[:], self._over[:], self._cut[:] = 0, False, False
        for row, action in enumerate(actions):
            self._advance(row, self._set[action])
        over, cut = self._over.copy(), self._cut.copy()
        return EmulatorStep(self._views(), self._points.copy(), over, cut, self._memory.copy())

    def _begin(self, row: int) -> None:
        game = self._games[row]
        game.reset_game()
        for _ in range(self._waits[row].integers(NO_OPS + 1)):
            game.act(ale_py.Action.NOOP)
        self._look(row, [game.getScreenGrayscale()], [game.getScreenRGB()])

    def _advance(self, row: int, action: ale_py.Action) -> None:
        game, points = self._games[row], 0
        gray, colour = [], []
        for frame in range(FRAME_SKIP):
            points += game.act(action)
            if frame >= FRAME_SKIP - 2:
                gray.append(game.getScreenGrayscale())
                if row < len(self._pictures):
                    colour.append(game.getScreenRGB())
        self._look(row, gray, colour)
        self._memory[row] = game.getRAM()
        self._points[row] = points
        self._over[row], self._cut[row] = game.game_over(with_truncation=False), game.game_truncated()

    def _look(self, row: int, gray: list[Pixels], colour: list[Pixels]) -> None:
        self._gray[row] = cv2.resize(np.maximum(gray[0], gray[-1]), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        if row < len(self._pictures):
            self._pictures[row] = np.maximum(colour[0], colour[-1])
        self._lives[row] = self._games[row].lives()

    def _views(self) -> Screens:
        return Screens(self._gray.copy(), self._pictures.copy(), self._lives.copy())


Emulators = VectorEmulators | InterfaceEmulators


def interface(path: Path, frames: int = GAME_STEPS * FRAME_SKIP) -> ale_py.ALEInterface:
    """Return the console with a game. frames: number of frames after which the game ends; 0 for no limit"""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    game = ale_py.ALEInterface()
    game.setFloat("repeat_action_probability", 0.0)
    game.setInt("max_num_frames_per_episode", frames)
    game.loadROM(path)
    return game
