"""Checkpoints: atomic, versioned, without pickle. One safetensors file holds every job's arrays and JSON values."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from core.errors import UserError
from core.events import JobState

log = logging.getLogger(__name__)
_VERSION = 1
_KEPT = 2


def write_atomically(path: Path, content: bytes) -> None:
    """Writes, syncs and renames: after a crash the file is the old one or the new one, never half of it.

    Makes the file's folder where there is none.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(exist_ok=True)
        with open(part, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise UserError(f"{path} can't be written ({error.strerror}): make room or check its folder.") from error


def save_checkpoint(folder: Path, number: int, states: dict[str, JobState]) -> Path:
    """Saves the states of all jobs as one file and deletes all but the newest two."""
    arrays = {f"{job}/{name}": _contiguous(a) for job, state in states.items() for name, a in state.arrays.items()}
    values = {job: state.values for job, state in states.items()}
    meta = {"somersault": json.dumps({"version": _VERSION, "number": number, "values": values})}
    path = folder / f"{number:08d}.safetensors"
    write_atomically(path, save(arrays, metadata=meta))
    for old in sorted(folder.glob("*.safetensors"))[:-_KEPT]:
        old.unlink(missing_ok=True)
    return path


def _contiguous(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array) if array.ndim else array.reshape(())


def load_newest(folder: Path) -> tuple[int, dict[str, JobState]] | None:
    """The newest checkpoint that can be read: its number and the jobs' states; None where there is none.

    Raises UserError if there are checkpoints but none is whole.
    """
    paths = sorted(folder.glob("*.safetensors"), reverse=True)
    for path in paths:
        try:
            return _load(path)
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            log.warning("The checkpoint %s is damaged (%s); going on with the one before.", path.name, error)
    if paths:
        raise UserError(f"No checkpoint in {folder} can be read: start a new session; its answers can be reused.")
    return None


def _load(path: Path) -> tuple[int, dict[str, JobState]]:
    with safe_open(path, framework="numpy") as file:
        meta = json.loads(file.metadata()["somersault"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - safe_open is no dict
    if meta["version"] != _VERSION:
        raise UserError(f"{path} was written by another version of Somersault: open it with that one.")
    states = {job: JobState({}, values) for job, values in meta["values"].items()}
    for name, array in arrays.items():
        job, _, rest = name.partition("/")
        states[job].arrays[rest] = array
    return int(meta["number"]), states
