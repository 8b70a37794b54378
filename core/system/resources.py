"""What the machine must have before anything is begun on it. Each lack is one sentence that says what to do."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from core.errors import UserError

_ROBOT_MEMORY, _GAME_MEMORY = 600_000_000, 1_100_000_000
WINDOW_MEMORY = 1_500_000_000
"""Bytes that the window and its four children take after some minutes of teaching a robot."""
GAME_WINDOW_MEMORY = WINDOW_MEMORY + _GAME_MEMORY - _ROBOT_MEMORY
"""The same for a task with pictures: what makes it more without a window makes it more with one. 3,000 answers, of two
clips of 49 kB each, have 0.3 GB of it."""
_ROBOT_ROOM, _GAME_ROOM = 100_000_000, 900_000_000
_MEMINFO = Path("/proc/meminfo")
_DRAWS_WITH = {"egl", "osmesa", "glfw", "glx", "enable", "enabled", "on", "true", "1", ""}
_DRAWS_NOT = {"disable", "disabled", "off", "false", "0"}
"""What MuJoCo takes for MUJOCO_GL on Linux; at any other it can't even be imported."""


def headless_memory(pictures: bool) -> int:
    """Bytes that a headless run takes, in one process; `pictures`: of a task with some, such as a game.

    A game takes 650 MB with its first answers, and the 3,300 that it is to have come to 100 to 360 MB.
    """
    return _GAME_MEMORY if pictures else _ROBOT_MEMORY


def session_room(pictures: bool) -> int:
    """Bytes on disk: a few thousand answers, three checkpoints, the policies of the past and the log.

    A game's 5,500 answers in a window come to 650 MB, three of its checkpoints to 120 and its policies to 100.
    """
    return _GAME_ROOM if pictures else _ROBOT_ROOM


def require_memory(least: int, meminfo: Path = _MEMINFO) -> None:
    """UserError where less is free, as far as the system says (Linux does)."""
    free = free_memory(meminfo)
    if free is not None and free < least:
        raise UserError(
            f"Only {_gigabytes(free)} of memory are free and {_gigabytes(least)} are needed: close other programs."
        )


def free_memory(meminfo: Path = _MEMINFO) -> int | None:
    """Bytes that programs can still have, swap included; None where the system has no such file."""
    try:
        lines = meminfo.read_text("ascii").splitlines()
    except OSError:
        return None
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return 1024 * (kilobytes["MemAvailable"] + kilobytes["SwapFree"])


def require_drawing(environ: Mapping[str, str] = os.environ) -> None:
    """UserError where MUJOCO_GL asks for what MuJoCo does not know or this machine lacks; only Linux has the choice."""
    chosen = environ.get("MUJOCO_GL", "").lower().strip()
    if not sys.platform.startswith("linux"):
        return
    if chosen not in _DRAWS_WITH | _DRAWS_NOT:
        raise UserError(f"MUJOCO_GL is {chosen}: unset it, or choose egl, osmesa or disable.")
    if chosen == "osmesa" and ctypes.util.find_library("OSMesa") is None:
        raise UserError("MUJOCO_GL is osmesa, which is missing here: sudo apt-get install libosmesa6, or unset it.")


def give_back() -> None:
    """Returns to the system what this process has freed, where the C library can (glibc); some ten milliseconds.

    By itself it keeps the holes between blocks that live on: a reward fit of 1,350 answers held 1.2 GB after fifty
    minutes, most of it holes.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim:
            trim(0)


def require_room(folder: Path, least: int) -> None:
    """UserError where the disk that `folder` is on, or will be made on, has fewer bytes free."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < least:
        raise UserError(
            f"Only {free / 1e6:.0f} MB are free on the disk of {folder} and a session needs {least / 1e6:.0f}:"
            " make room there, or name another folder with --session."
        )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
