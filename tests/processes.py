"""Child processes that tests count, kill and wait for."""

from __future__ import annotations

import subprocess
from contextlib import suppress

import psutil

_SECONDS = 60
"""Far more than a process takes to end."""


def children(parent: int | None = None, recursive: bool = False) -> dict[psutil.Process, str]:
    """Return the running children of a process, by default of this one, with their command lines.

    Children that end during the search and zombies are left out.
    """
    found = dict[psutil.Process, str]()
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(parent).children(recursive=recursive):
            with suppress(psutil.NoSuchProcess):
                found[child] = " ".join(child.cmdline())
    return found


def parts(parent: int | None = None, recursive: bool = False) -> list[psutil.Process]:
    """Return children that run a part of the program: spawned, or forked from the process that has imported torch."""
    found = list[psutil.Process]()
    for child, command in children(parent).items():
        if "forkserver import main" in command:
            found += children(child.pid)
        elif "spawn_main" in command:
            found.append(child)
    return [*found, *(inner for part in found for inner in parts(part.pid, True))] if recursive else found


def kill(program: subprocess.Popen[str], said: str = "") -> list[str]:
    """Kill the program, require that no child survives, and return its complete lines of output, starting with `said`."""
    family = psutil.Process(program.pid).children(recursive=True)
    program.kill()
    said += program.stdout.read()
    program.wait(_SECONDS)
    _, alive = psutil.wait_procs(family, timeout=_SECONDS)
    assert not alive
    return said[: said.rfind("\n") + 1].splitlines()
