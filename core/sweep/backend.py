"""Interface between the driver of a sweep and the backends that compute its cells."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from core.config import Config
from core.sweep.cell import Cell, compute
from core.sweep.environment import versions
from core.system.resources import release_memory


@dataclass(frozen=True)
class Started:
    """Start of a cell that was submitted."""

    digest: str


@dataclass(frozen=True)
class Progressed:
    """Number of environment steps that a running cell has taken."""

    digest: str
    env_steps: int


@dataclass(frozen=True)
class Ended:
    """End of a cell. content: its document from core.sweep.cell.compute"""

    digest: str
    content: bytes


@dataclass(frozen=True)
class Lost:
    """Loss of the process or machine that computed a cell. reason: one sentence"""

    digest: str
    reason: str


Report = Started | Progressed | Ended | Lost


class Backend(Protocol):
    """Computes cells in other processes, on this or other machines. Used by one thread."""

    def check(self) -> None:
        """Raise UserError if cells would be computed with another version of the program or its libraries."""
        ...

    @property
    def slots(self) -> int:
        """Number of cells that should be submitted or running at the same time."""
        ...

    def submit(self, cell: Cell) -> None: ...

    def reports(self, seconds: float) -> list[Report]:
        """Wait up to this many seconds for the next reports, and return them."""
        ...

    def close(self) -> None:
        """End all cells that are still running."""
        ...


def probe() -> dict[str, str]:
    """Return the versions in the process that calls it. Sent to other machines before the first cell."""
    return versions()


def compute_elsewhere(config: dict[str, object]) -> bytes:
    """Compute a cell in a folder that is deleted afterwards, with one thread; the task of a cluster.

    config: result of Config.to_dict
    """
    with tempfile.TemporaryDirectory(prefix="somersault-", ignore_cleanup_errors=True) as folder:
        content = compute(Config.from_dict(config), Path(folder) / "session", 1, lambda env_steps: None)
    release_memory()  # another cell may follow in this process
    return content
