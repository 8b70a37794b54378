"""The emulators of core.envs.emulators.InterfaceEmulators in processes of their own, so that they use every core.

ale-py's interface keeps Python's lock while it emulates, so threads would not do. Each process has every so-manieth
emulator: those in colour, which take longer, are the first, and so they are spread evenly.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import signal
import weakref
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.envs.emulators import EmulatorStep, InterfaceEmulators, Rows, Screens
from core.io.image_codec import Pixels
from core.tasks.atari import SIDE

_LEFT_SECONDS = 2.0
"""For a process to end by itself, which takes it as long as a step."""


class DividedEmulators:
    """As InterfaceEmulators, and as fast as the cores allow. Where a process is gone no call succeeds any more.

    The processes go with the last reference, and with the process that began them.
    """

    def __init__(self, path: Path, count: int, processes: int, in_colour: int = 0) -> None:
        self.count = count
        self._parts = [slice(first, None, processes) for first in range(processes)]
        sizes = [(len(range(count)[part]), len(range(in_colour)[part])) for part in self._parts]
        children = [_spawned(path, *size) for size in sizes]
        self._pipes = [pipe for pipe, _, _ in children]
        self._grays = [_pictures(shared) for _, _, shared in children]
        weakref.finalize(self, _end, children)
        self._begun = False
        self.actions = int(self._answers()[0])

    def start(self, rows: Rows, seeds: Rows | None = None) -> Screens:
        divisor = len(self._parts)
        for number, pipe in enumerate(self._pipes):
            mine = rows % divisor == number
            _send(pipe, ("start", rows[mine] // divisor, None if seeds is None else seeds[mine]))
        return self._views(self._answers())

    def begin(self, actions: Rows) -> None:
        for part, pipe in zip(self._parts, self._pipes, strict=True):
            _send(pipe, ("step", actions[part]))
        self._begun = True

    def step(self, actions: Rows) -> EmulatorStep:
        if not self._begun:
            self.begin(actions)
        self._begun = False
        shots: list[EmulatorStep] = self._answers()
        told = [(shot.points, shot.over, shot.cut, shot.memory) for shot in shots]
        return EmulatorStep(self._views([shot.views for shot in shots]), *map(self._whole, zip(*told, strict=True)))

    def _answers(self) -> list[Any]:
        """One of each process. RuntimeError where one of them has none to give."""
        try:
            answers = [pipe.recv() for pipe in self._pipes]
        except (EOFError, OSError) as error:
            raise RuntimeError("one of its processes has ended") from error
        for answer in answers:
            if isinstance(answer, Exception):
                raise RuntimeError(f"{type(answer).__name__}: {answer}") from answer
        return answers

    def _views(self, views: Sequence[Screens]) -> Screens:
        colour, lives = (self._whole([getattr(part, name) for part in views]) for name in ("colour", "lives"))
        divisor = len(self._parts)
        failures = {
            row * divisor + number: failure
            for number, part in enumerate(views)
            for row, failure in part.failures.items()
        }
        return Screens(self._whole(self._grays), colour, lives, failures)

    def _whole(self, arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """One of each process, its rows in the order of all emulators."""
        whole = np.empty((sum(map(len, arrays)), *arrays[0].shape[1:]), arrays[0].dtype)
        for part, array in zip(self._parts, arrays, strict=True):
            whole[part] = array
        return whole


_Shared = ctypes.Array[ctypes.c_uint8]
"""Gray pictures of one process, as they are after its latest answer: through a pipe they took a tenth of a step."""
_Child = tuple[Connection, BaseProcess, _Shared]


def _pictures(shared: _Shared) -> Pixels:
    return np.frombuffer(memoryview(shared), np.uint8).reshape(-1, SIDE, SIDE)


def _spawned(path: Path, count: int, in_colour: int) -> _Child:
    """Not forked: a process with threads, as this may be, must not be."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    shared = context.RawArray(ctypes.c_uint8, count * SIDE * SIDE)
    told = theirs, shared, path, count, in_colour
    process = context.Process(target=_emulate, args=told, name="emulators", daemon=True)
    process.start()
    theirs.close()  # so that its death is the pipe's end
    return ours, process, shared


def _end(children: Sequence[_Child]) -> None:
    """They end where their pipe does."""
    for pipe, _, _ in children:
        pipe.close()
    for _, process, _ in children:
        process.join(_LEFT_SECONDS)
        process.kill()


def _send(pipe: Connection, call: tuple[Any, ...]) -> None:
    """What a process that is gone can't take in is noticed when it has no answer."""
    with contextlib.suppress(OSError):
        pipe.send(call)


def _emulate(pipe: Connection, shared: _Shared, path: Path, count: int, in_colour: int) -> None:
    """Answers calls until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for those that are asked to end in order
    with contextlib.suppress(EOFError, OSError):
        try:
            games = InterfaceEmulators(path, count, in_colour)
            pipe.send(games.actions)
            while True:
                name, *arguments = pipe.recv()
                pipe.send(_shown(getattr(games, name)(*arguments), _pictures(shared)))
        except (EOFError, OSError):
            raise
        except Exception as error:  # the boundary of the process: whoever asked is told
            pipe.send(error)


def _shown(answer: EmulatorStep | Screens, place: Pixels) -> EmulatorStep | Screens:
    """The answer without its gray pictures, which are put there."""
    views = answer.views if isinstance(answer, EmulatorStep) else answer
    place[:] = views.gray
    bare = replace(views, gray=views.gray[:0])
    return replace(answer, views=bare) if isinstance(answer, EmulatorStep) else bare
