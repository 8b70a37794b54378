"""Memory, cores, disk space and rendering of this machine, and checks that raise UserError before work starts."""

import ctypes
import ctypes.util
import os
import shutil
import sys
from pathlib import Path

from core.errors import UserError

ROBOT_MEMORY, GAME_MEMORY = 650_000_000, 1_100_000_000
"""Memory in bytes of a headless run in one process. An Ant taught by SAC takes 632 MB while a checkpoint is saved; a game takes
650 MB at first, and its 3,300 answers 100 to 360 MB."""
WINDOW_MEMORY = 2_200_000_000
"""Largest memory in bytes of the window and its five child processes in some minutes of teaching a robot."""
GAME_WINDOW_MEMORY = 2_700_000_000
"""The same for a game. 3,000 answers, with two clips of 49 kB each, take 0.3 GB of it."""
ROBOT_DISK, GAME_DISK = 300_000_000, 900_000_000
"""Disk space in bytes for a few thousand answers, three checkpoints, the policy snapshots and the log.

Three checkpoints of an Ant taught by SAC take 220 MB. For a game, 5,500 answers take 650 MB, three checkpoints 120 MB and the
snapshots 100 MB.
"""
_MEMINFO = Path("/proc/meminfo")
_GL_BACKENDS = {"egl", "osmesa", "glfw", "glx", "enable", "enabled", "on", "true", "1", ""}
_GL_BACKENDS |= {"disable", "disabled", "off", "false", "0"}
"""Values of MUJOCO_GL that MuJoCo accepts on Linux; with any other it can't be imported."""


def require_memory(least: int, meminfo: Path = _MEMINFO) -> None:
    """Raise UserError if fewer than `least` bytes of memory are free. Does nothing on systems without meminfo."""
    free = free_memory(meminfo)
    if free is not None and free < least:
        raise UserError(
            f"Only {free / 1e9:.1f} GB of memory is free, and {least / 1e9:.1f} GB is needed: close other programs."
        )


def free_memory(meminfo: Path = _MEMINFO) -> int | None:
    """Return the memory in bytes available to programs, including swap; None if the system does not report it."""
    try:
        lines = meminfo.read_text("ascii").splitlines()
    except OSError:
        return None
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    if "MemAvailable" not in kilobytes:  # such as in the first version of WSL
        return None
    return 1024 * (kilobytes["MemAvailable"] + kilobytes.get("SwapFree", 0))


def available_cores() -> int:
    """Return the number of cores that this process may use on Linux, and the number of all cores on other systems."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def require_mujoco_gl() -> None:
    """Raise UserError if MUJOCO_GL names a backend that is unknown to MuJoCo or not installed (Linux only)."""
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip()
    if not sys.platform.startswith("linux"):
        return
    if chosen not in _GL_BACKENDS:
        raise UserError(f"MUJOCO_GL is {chosen}: unset it, or choose egl, osmesa or glfw.")
    if chosen == "osmesa" and ctypes.util.find_library("OSMesa") is None:
        raise UserError("MUJOCO_GL is osmesa, which is not installed: sudo apt-get install libosmesa6, or unset it.")


def release_memory() -> None:
    """Return freed memory to the operating system, if the C library supports it (glibc). Takes about ten milliseconds.

    Otherwise free memory between used blocks is not returned: a reward fit of 1,350 answers held 1.2 GB after fifty
    minutes, most of it free.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim:
            trim(0)


def require_disk_space(folder: Path, least: int) -> None:
    """Raise UserError if the disk of `folder`, which need not exist yet, has fewer than `least` bytes free."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < least:
        raise UserError(
            f"Only {free / 1e6:.0f} MB is free on the disk of {folder}, and a session needs {least / 1e6:.0f} MB:"
            " make room there, or choose a folder on another disk."
        )
