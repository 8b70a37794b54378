"""The emulators of core.envs.emulators.InterfaceEmulators in processes of their own, so that they use every core.

ale-py's interface keeps Python's lock while it emulates, so threads would not do. Each process has every so-manieth
emulator: those in colour, which take longer, are the first, and so they are spread evenly.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.envs.emulators import InterfaceEmulators, Rows, Shot, Views

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
        self._pipes = [pipe for pipe, _ in children]
        weakref.finalize(self, _end, children)
        self._begun = False
        self.actions = int(self._answers()[0])

    def start(self, rows: Rows, seeds: Rows | None = None) -> Views:
        divisor = len(self._parts)
        for number, pipe in enumerate(self._pipes):
            mine = rows % divisor == number
            _send(pipe, ("start", rows[mine] // divisor, None if seeds is None else seeds[mine]))
        return self._views(self._answers())

    def begin(self, actions: Rows) -> None:
        for part, pipe in zip(self._parts, self._pipes, strict=True):
            _send(pipe, ("step", actions[part]))
        self._begun = True

    def step(self, actions: Rows) -> Shot:
        if not self._begun:
            self.begin(actions)
        self._begun = False
        shots: list[Shot] = self._answers()
        fields = ("points", "over", "cut", "memory")
        return Shot(self._views([shot.views for shot in shots]), *(self._whole(shots, name) for name in fields))

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

    def _views(self, views: Sequence[Views]) -> Views:
        gray, colour, lives = (self._whole(views, name) for name in ("gray", "colour", "lives"))
        divisor = len(self._parts)
        failures = {
            row * divisor + number: failure
            for number, part in enumerate(views)
            for row, failure in part.failures.items()
        }
        return Views(gray, colour, lives, failures)

    def _whole(self, answers: Sequence[Shot] | Sequence[Views], name: str) -> npt.NDArray[Any]:
        """An array of theirs, its rows in the order of all emulators."""
        arrays = [getattr(answer, name) for answer in answers]
        whole = np.empty((sum(map(len, arrays)), *arrays[0].shape[1:]), arrays[0].dtype)
        for part, array in zip(self._parts, arrays, strict=True):
            whole[part] = array
        return whole


_Child = tuple[Connection, BaseProcess]


def _spawned(path: Path, count: int, in_colour: int) -> _Child:
    """Not forked: a process with threads, as this may be, must not be."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_emulate, args=(theirs, path, count, in_colour), name="emulators", daemon=True)
    process.start()
    theirs.close()  # so that its death is the pipe's end
    return ours, process


def _end(children: Sequence[_Child]) -> None:
    """They end where their pipe does."""
    for pipe, _ in children:
        pipe.close()
    for _, process in children:
        process.join(_LEFT_SECONDS)
        process.kill()


def _send(pipe: Connection, call: tuple[Any, ...]) -> None:
    """What a process that is gone can't take in is noticed when it has no answer."""
    with contextlib.suppress(OSError):
        pipe.send(call)


def _emulate(pipe: Connection, path: Path, count: int, in_colour: int) -> None:
    """Answers calls until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for those that are asked to end in order
    with contextlib.suppress(EOFError, OSError):
        try:
            games = InterfaceEmulators(path, count, in_colour)
            pipe.send(games.actions)
            while True:
                name, *arguments = pipe.recv()
                pipe.send(getattr(games, name)(*arguments))
        except (EOFError, OSError):
            raise
        except Exception as error:  # the boundary of the process: whoever asked is told
            pipe.send(error)
