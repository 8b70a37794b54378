"""What the machine must have before anything is begun on it. Each lack is one sentence that says what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

from core.errors import UserError

WINDOW_MEMORY = 1_500_000_000
"""Bytes that the window and its four children take after some minutes."""
HEADLESS_MEMORY = 600_000_000
"""Bytes that a headless run takes, all in one process."""
SESSION_ROOM = 100_000_000
"""Bytes on disk: a few thousand answers, three checkpoints and the log."""
_MEMINFO = Path("/proc/meminfo")


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


def require_room(folder: Path) -> None:
    """UserError where the disk that `folder` is on, or will be made on, is nearly full."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < SESSION_ROOM:
        raise UserError(
            f"Only {free / 1e6:.0f} MB are free on the disk of {folder} and a session needs {SESSION_ROOM / 1e6:.0f}:"
            " make room there, or name another folder with --session."
        )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
