"""Policy snapshots: a bounded number of earlier policies, one small file each, for films and for the live view."""

import logging
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from core.config import Config
from core.errors import UserError
from core.events import Arrays
from core.formatting import format_moment
from core.io import tensor_file
from core.io.files import make_inside, reason, write_atomically
from core.types import require_count

log = logging.getLogger(__name__)
FOLDER = "policies"
FILE_NAME = r"[0-9]{12,13}\.safetensors"
"""Pattern of a snapshot's name: its environment steps."""
KEPT = 60
"""Largest number of snapshots of a session: as many as can be distinguished on a slider."""
_MIN_KEPT = 8
_MAX_TOTAL_BYTES = 96 << 20
"""Largest size of all snapshots together in bytes: of large policies, fewer are kept."""
_FIRST_SHARE = 1 / 200
"""Interval between the first snapshots, as a share of the session's steps."""
_LATER_SHARE = 2 / KEPT
"""Interval between later ones, as a share of the steps so far: twice the even spacing of KEPT snapshots, so that the early
ones, which differ most, are kept."""
_MAX_BYTES = 64 << 20
_VERSION = 1


@dataclass(frozen=True)
class SnapshotInfo:
    """State of the session when a snapshot was taken.

    seconds: training time so far, over all runs of the session
    measure: mean of the task's measure over recent episodes; NaN before the first. Not compared, as NaN != NaN
    """

    env_steps: int
    labels: int
    seconds: float
    measure: float = field(compare=False)

    @property
    def caption(self) -> str:
        """Moment of the snapshot, for example 'after 12 answers, 340k steps'."""
        return format_moment(self.labels, self.env_steps)


class PolicySnapshots:
    """The snapshots of one session, identified by the environment steps from which their policies had learned.

    Use it in one thread at a time. Each call reads the folder again.
    """

    def __init__(
        self, session: Path, min_steps: int = 1, limit: int = KEPT, max_total_bytes: int = _MAX_TOTAL_BYTES
    ) -> None:
        """min_steps: fewest environment steps between two snapshots; later ones are farther apart
        limit, max_total_bytes: largest number and total size of snapshots
        """
        self.folder = session / FOLDER
        self.min_steps = min_steps
        self._limit, self._max_total_bytes = limit, max_total_bytes

    def files(self) -> list[Path]:
        paths = self.folder.glob("*.safetensors")
        return sorted(path for path in paths if re.fullmatch(FILE_NAME, path.name, re.ASCII))

    def env_steps(self) -> list[int]:
        """Return the environment steps of all snapshots, including damaged ones, ascending."""
        return [int(path.stem) for path in self.files()]

    def next_due(self) -> int:
        """Return the environment steps at which the next snapshot is due."""
        steps = self.env_steps()
        return steps[-1] + max(self.min_steps, math.ceil(steps[-1] * _LATER_SHARE)) if steps else 0

    def seconds(self) -> float:
        """Return the training time in seconds up to the newest undamaged snapshot; 0 if there is none."""
        for steps in reversed(self.env_steps()):
            try:
                return self._read(steps)[0].seconds
            except tensor_file.DAMAGE:
                continue  # infos() reports it
        return 0.0

    def add(self, info: SnapshotInfo, weights: Arrays, always: bool = False) -> bool:
        """Save a policy if a snapshot is due, or `always`. Returns whether it was saved. Raises UserError if that fails.

        Snapshots with more steps are deleted: the session was resumed from an earlier checkpoint.
        """
        for steps in self.env_steps():
            if steps > info.env_steps:
                self._delete(steps)
        if info.env_steps < self.next_due() and not always:
            return False
        values = {"version": _VERSION, **asdict(info)}
        values["measure"] = info.measure if math.isfinite(info.measure) else None
        content = tensor_file.as_file(values, weights)
        make_inside(self.folder)
        limit = max(_MIN_KEPT, min(self._limit, self._max_total_bytes // len(content)))
        taken = sorted({*self.env_steps(), info.env_steps})
        for steps in sorted({*taken} - {*thinned(taken, limit)}):
            self._delete(steps)  # before the new one is written, so that an export never finds too many
        write_atomically(self._path(info.env_steps), content)
        return True

    def infos(self, tell: Callable[[str], None] | None = None) -> list[SnapshotInfo]:
        """Return the states of all undamaged snapshots, oldest first. tell: called with one sentence if some are damaged"""
        infos, damaged = [], 0
        for steps in self.env_steps():
            try:
                infos.append(self._read(steps)[0])
            except tensor_file.DAMAGE as error:
                log.warning("The policy %s is damaged (%s) and left out.", self._path(steps).name, error)
                damaged += 1
        if damaged and tell:
            subject = "One earlier policy is" if damaged == 1 else f"{damaged} earlier policies are"
            tell(f"{subject} damaged and can't be shown again; the session itself is not affected.")
        return infos

    def load(self, steps: int) -> tuple[SnapshotInfo, Arrays]:
        """Load the snapshot taken at these environment steps. Raises UserError if it is missing or damaged."""
        try:
            return self._read(steps)
        except tensor_file.DAMAGE as error:
            text = f"The policy after {steps:,} steps can't be read ({reason(error)}): choose another one."
            raise UserError(text) from error

    def _read(self, steps: int) -> tuple[SnapshotInfo, Arrays]:
        values, weights = tensor_file.read(self._path(steps), _MAX_BYTES)
        if values["version"] != _VERSION:
            raise ValueError("it was written by another version of Somersault")
        if values["env_steps"] != steps:
            raise ValueError("its number does not match its name")
        measure = math.nan if values["measure"] is None else float(values["measure"])
        return SnapshotInfo(
            require_count(steps), require_count(values["labels"]), float(values["seconds"]), measure
        ), weights

    def _delete(self, steps: int) -> None:
        try:
            self._path(steps).unlink(missing_ok=True)
        except OSError as error:  # it only takes disk space
            log.warning("The old policy %s can't be deleted (%s).", self._path(steps).name, error.strerror)

    def _path(self, steps: int) -> Path:
        return self.folder / f"{steps:012d}.safetensors"


def thinned(steps: list[int], limit: int) -> list[int]:
    """Choose at most `limit` of ascending steps, evenly spread, always including the first and the last.

    Repeatedly drops the one whose two neighbours are closest to each other; of several, the earliest.
    """
    left = list(steps)
    while len(left) > max(2, limit):
        gaps = [after - before for before, after in zip(left, left[2:], strict=False)]
        del left[1 + gaps.index(min(gaps))]
    return left


def snapshots_of(session: Path, config: Config) -> PolicySnapshots:
    """Return the snapshots of the session in this folder, spaced by its planned steps or by its steps per answer."""
    spacing = config.planned_steps * _FIRST_SHARE
    if config.query.by_answers:  # a session in a window has no planned end
        spacing = min(spacing, config.rollout.steps_per_answer or spacing)
    return PolicySnapshots(session, max(1, round(spacing)))
