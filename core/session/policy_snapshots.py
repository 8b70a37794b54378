"""How the policy learned: policies of a session's past, a bounded number of small files beside its checkpoints.

Checkpoints hold all that training needs and soon give way to newer ones. A snapshot holds a policy alone, with what was
known when it was taken, so that it can be seen to act again.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from core.config import Config
from core.errors import UserError
from core.events import Arrays, require_count
from core.formatting import format_duration, pluralize
from core.io import tensor_file as files
from core.io.files import make_inside, write_atomically

log = logging.getLogger(__name__)
FOLDER = "policies"
KEPT = 60
"""At most so many: as many as a slider can tell apart."""
_FEWEST = 8
_BYTES = 96 << 20
"""Of all together, where policies are large: then fewer are kept."""
_FIRST_SHARE = 1 / 200
"""Of the session's steps, between the first snapshots."""
_LATER_SHARE = 2 / KEPT
"""Of the steps taken so far, between later ones: half of what fits, so that the early ones, which differ most, stay."""
_MAX_SIZE = 64 << 20
_VERSION = 1


@dataclass(frozen=True)
class SnapshotInfo:
    """What was known when a snapshot was taken.

    seconds: of teaching so far, in all runs of the session
    measure: the task's own, over the last episodes then; nan where there was none yet
    """

    env_steps: int
    labels: int
    seconds: float
    measure: float

    @property
    def told(self) -> str:
        """In words: 'after 12 answers, 3 minutes'."""
        if self.env_steps == 0:
            return "untrained"
        taught = pluralize(self.labels, "answer") if self.labels else f"{self.env_steps:,} steps"
        return f"after {taught}, {format_duration(self.seconds)}"


class PolicySnapshots:
    """The snapshots of one session, by the environment steps that their policies had learned from.

    Use in one thread at a time; each call reads the folder anew.
    """

    def __init__(self, session: Path, least: int = 1, limit: int = KEPT) -> None:
        """least: steps between two snapshots; more when many were taken."""
        self.folder = session / FOLDER
        self._least, self._limit = least, limit

    def kept(self) -> list[int]:
        """Environment steps of each, in order."""
        return [int(path.stem) for path in self.paths()]

    def paths(self) -> list[Path]:
        """Their files, in order."""
        found = self.folder.glob("*.safetensors")
        return sorted(path for path in found if re.fullmatch("[0-9]{12,13}", path.stem, re.ASCII))

    def next_due(self) -> int:
        """From how many environment steps on the next one is wanted."""
        steps = self.kept()
        return steps[-1] + max(self._least, math.ceil(steps[-1] * _LATER_SHARE)) if steps else 0

    def seconds(self) -> float:
        """Of teaching, up to the newest that is whole; 0 where there is none."""
        for steps in reversed(self.kept()):
            try:
                return self._read(steps)[0].seconds
            except files.DAMAGE:
                continue  # moments() tells of it
        return 0.0

    def add(self, moment: SnapshotInfo, weights: Arrays, always: bool = False) -> bool:
        """Keeps this policy if one is due, or `always`; whether it did. UserError where it can't be written.

        Those from later on go: the session was taken back to before them, and what they had learned is lost.
        """
        for steps in self.kept():
            if steps > moment.env_steps:
                self._drop(steps)
        if moment.env_steps < self.next_due() and not always:
            return False
        values = {"version": _VERSION, **asdict(moment)}
        values["measure"] = moment.measure if math.isfinite(moment.measure) else None
        content = files.as_file(values, weights)
        make_inside(self.folder)
        write_atomically(self._path(moment.env_steps), content)
        self._thin(max(_FEWEST, min(self._limit, _BYTES // len(content))))
        return True

    def _thin(self, limit: int) -> None:
        steps = self.kept()
        for dropped in sorted(set(steps) - set(thinned(steps, limit))):
            self._drop(dropped)

    def _drop(self, steps: int) -> None:
        try:
            self._path(steps).unlink(missing_ok=True)
        except OSError as error:  # it only takes room
            log.warning("The old policy %s can't be deleted (%s).", self._path(steps).name, error.strerror)

    def _path(self, steps: int) -> Path:
        return self.folder / f"{steps:012d}.safetensors"

    def moments(self, tell: Callable[[str], None] | None = None) -> list[SnapshotInfo]:
        """Of all that are whole, in order. `tell` gets one sentence where some are damaged; the log has each."""
        found, damaged = [], 0
        for steps in self.kept():
            try:
                found.append(self._read(steps)[0])
            except files.DAMAGE as error:
                log.warning("The policy %s is damaged (%s); it is left out.", self._path(steps).name, error)
                damaged += 1
        if damaged and tell:
            which = "One earlier policy is" if damaged == 1 else f"{damaged} earlier policies are"
            tell(f"{which} damaged and can't be shown again; the session itself is not touched by that.")
        return found

    def load(self, steps: int) -> tuple[SnapshotInfo, Arrays]:
        """What was known then, and the policy's weights. UserError where it is gone or damaged."""
        try:
            return self._read(steps)
        except files.DAMAGE as error:
            text = f"The policy after {steps:,} steps can't be read ({error}): choose another one."
            raise UserError(text) from error

    def _read(self, steps: int) -> tuple[SnapshotInfo, Arrays]:
        values, weights, sealed = files.read(self._path(steps), _MAX_SIZE)
        if values["version"] != _VERSION:
            raise ValueError("it was written by another version of Somersault")
        if not sealed:
            raise ValueError("its digest does not match")
        if values["env_steps"] != steps:
            raise ValueError("its number is not that of its name")
        measure = math.nan if values["measure"] is None else float(values["measure"])
        return SnapshotInfo(
            require_count(steps), require_count(values["labels"]), float(values["seconds"]), measure
        ), weights


def thinned(steps: list[int], limit: int) -> list[int]:
    """At most `limit` of these, evenly: of all but the first and the last, the one least missed goes, then the next.

    Least missed is whose neighbours are nearest to each other; the earliest of such.
    """
    left = list(steps)
    while len(left) > max(2, limit):
        gaps = [after - before for before, after in zip(left, left[2:], strict=False)]
        del left[1 + gaps.index(min(gaps))]
    return left


def snapshots_of(session: Path, config: Config) -> PolicySnapshots:
    """Those of a session with this config."""
    return PolicySnapshots(session, max(1, round(config.planned_steps * _FIRST_SHARE)))
