"""Checkpoints: atomic, versioned, checksummed, without pickle.

One safetensors file holds every job's arrays, and in its metadata their JSON values and a digest of all of it: a
flipped bit must not train on. The newest two are kept, so that a damaged one gives way to the one before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import UserError
from core.events import JobState
from core.io import tensor_file as files
from core.io.files import make_inside, write_atomically

log = logging.getLogger(__name__)
_VERSION = 2
_WITHOUT_DIGEST = 1
_MAX_SIZE = 512 << 20
"""Bytes, which loading takes as memory. A robot's session has some 4 MB, a game's 25 to 40."""
_ROOM_FOR_VALUES = 16 << 20


def save_checkpoint(folder: Path, number: int, states: dict[str, JobState]) -> Path:
    """Saves the states of all jobs as one file; of the others only the one before it stays. UserError if it can't.

    One so large that it could not be loaded again is not written.
    """
    arrays = {f"{job}/{name}": a for job, state in states.items() for name, a in state.arrays.items()}
    values = {job: state.values for job, state in states.items()}
    if (size := sum(array.nbytes for array in arrays.values())) > _MAX_SIZE - _ROOM_FOR_VALUES:
        raise UserError(
            f"The checkpoint would have {size >> 20} MB, more than can be loaded again: answers are kept, but start"
            " a session with smaller networks, a smaller pool or fewer environments."
        )
    path = folder / f"{number:08d}.safetensors"
    make_inside(folder)
    write_atomically(path, files.as_file({"version": _VERSION, "number": number, "values": values}, arrays))
    _prune(folder, path)
    return path


def _prune(folder: Path, newest: Path) -> None:
    """Keeps the newest and the one before it. A later number is one that was damaged, or it would have been loaded."""
    others = [path for path in kept(folder) if path != newest]
    before = max((path for path in others if path.name < newest.name), default=None)
    for path in others:
        if path != before:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:  # the new one is safe: what is left over only takes room
                log.warning("The old checkpoint %s can't be deleted (%s).", path.name, error.strerror)


def kept(folder: Path) -> list[Path]:
    """The checkpoints in this folder, damaged ones too, oldest first."""
    return sorted(path for path in folder.glob("*.safetensors") if path.stem.isdigit())


def load_newest(folder: Path, tell: Callable[[str], None] | None = None) -> tuple[int, dict[str, JobState]] | None:
    """The newest checkpoint that is whole: its number and the jobs' states; None where there is none.

    `tell` gets one sentence where a damaged one gave way to it; the log has that in any case. Raises UserError if
    there are checkpoints but none is whole.
    """
    skipped = []
    for path in reversed(kept(folder)):
        try:
            loaded = _load(path)
        except files.DAMAGE as error:
            log.warning("The checkpoint %s is damaged (%s); going on with the one before.", path.name, error)
            skipped.append(path)
            continue
        if skipped and tell:
            tell(f"The newest checkpoint was damaged, so training goes on from the one before, {path.name}.")
        return loaded
    if skipped:
        raise UserError(
            f"No checkpoint in {folder} can be read: delete that folder, and training starts anew with every answer."
        )
    return None


def _load(path: Path) -> tuple[int, dict[str, JobState]]:
    meta, arrays, sealed = files.read(path, _MAX_SIZE)
    if meta["version"] != _WITHOUT_DIGEST and not sealed:  # first: a flipped bit may be in the version
        raise ValueError("its digest does not match")
    if meta["version"] not in (_WITHOUT_DIGEST, _VERSION):
        raise UserError(f"{path} was written by another version of Somersault: open it with that one.")
    if meta["number"] != int(path.stem):
        raise ValueError("its number is not that of its name")
    return meta["number"], _states(meta["values"], arrays)


def _states(values: dict[str, dict[str, Any]], arrays: Mapping[str, np.ndarray]) -> dict[str, JobState]:
    states = {job: JobState({}, dict(inner)) for job, inner in values.items()}
    for name, array in arrays.items():
        job, _, rest = name.partition("/")
        states[job].arrays[rest] = array
    return states
