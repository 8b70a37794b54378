"""Checkpoints: the states of all jobs in one safetensors file with a digest, written atomically.

The newest two are kept, so that training can resume from the older one if the newer one is damaged.
"""

import logging
import re
from collections.abc import Callable
from pathlib import Path

from core.errors import UserError
from core.events import JobState
from core.io import tensor_file
from core.io.files import make_inside, reason, write_atomically
from core.types import require_count

log = logging.getLogger(__name__)
CHECKPOINTS = "checkpoints"
"""Name of their folder in a session's folder."""
FILE_NAME = r"[0-9]{8,12}\.safetensors"
"""Pattern of a checkpoint's name."""
_VERSION = 2
_MAX_BYTES = 512 << 20
"""Largest size in bytes, as loading takes as much memory. A robot's checkpoint has 4 to 20 MB with PPO and up to 75 MB with
SAC, a game's 25 to 40 MB."""
_MAX_VALUES_BYTES = 16 << 20


class UnreadableError(UserError):
    """All checkpoints are damaged, or another version wrote the newest. Training can start again with all answers."""


def save_checkpoint(folder: Path, number: int, states: dict[str, JobState]) -> Path:
    """Write the states of all jobs, by job name, and delete all other checkpoints except the previous one.

    Raises UserError if the checkpoint can't be written, or is too large to be loaded again.
    """
    arrays = {f"{job}/{name}": array for job, state in states.items() for name, array in state.arrays.items()}
    values = {job: state.values for job, state in states.items()}
    if (size := sum(array.nbytes for array in arrays.values())) > _MAX_BYTES - _MAX_VALUES_BYTES:
        raise UserError(
            f"The checkpoint would take {size >> 20} MB, too much to load again: the answers are saved; start"
            " a session with smaller networks, a smaller pool or fewer environments."
        )
    path = path_of(folder, number)
    make_inside(folder)
    write_atomically(path, tensor_file.as_file({"version": _VERSION, "number": number, "values": values}, arrays))

    # A file with a higher number is damaged: otherwise it would have been loaded.
    others = [other for other in checkpoint_files(folder) if other != path]
    before = max((other for other in others if other.name < path.name), default=None)
    for other in others:
        if other != before:
            try:
                other.unlink(missing_ok=True)
            except OSError as error:  # it only takes disk space
                log.warning("The old checkpoint %s can't be deleted (%s).", other.name, error.strerror)
    return path


def path_of(folder: Path, number: int) -> Path:
    """Return the path of the checkpoint with this number."""
    return folder / f"{number:08d}.safetensors"


def checkpoint_files(folder: Path) -> list[Path]:
    """Return all checkpoints in the folder, including damaged ones, oldest first."""
    return sorted(path for path in folder.glob("*.safetensors") if re.fullmatch(FILE_NAME, path.name, re.ASCII))


def load_newest(folder: Path, tell: Callable[[str], None] | None = None) -> tuple[int, dict[str, JobState]] | None:
    """Load the newest undamaged checkpoint: its number and the states by job name; None if there is no checkpoint.

    tell: called with one sentence if a damaged checkpoint was skipped

    Raises UnreadableError if there are checkpoints, but none can be used, and UserError if the disk fails.
    """
    damaged: list[Exception] = []
    for path in reversed(checkpoint_files(folder)):
        try:
            loaded = load(path)
            if loaded[0] != int(path.stem):
                raise ValueError("its number does not match its name")
        except PermissionError as error:  # the file may be undamaged, and the next checkpoint would replace it
            raise UserError(f"{path} can't be read ({reason(error)}): check its permissions.") from error
        except tensor_file.DAMAGE as error:
            log.warning("The checkpoint %s is damaged (%s); trying the one before.", path.name, error)
            damaged.append(error)
            continue
        if damaged and tell:
            tell(f"The newest checkpoint was damaged, so training continues from the one before, {path.name}.")
        return loaded
    if damaged:
        for cause in damaged:
            if isinstance(cause, OSError):  # the files may be undamaged
                raise UserError(
                    f"No checkpoint in {folder} can be read ({reason(cause)}): check the disk and the files' permissions."
                ) from cause
        raise UnreadableError(
            f"No checkpoint in {folder} can be read: put a copy of one back, or open the session, which is then trained"
            " again with all its answers."
        )
    return None


def load(path: Path) -> tuple[int, dict[str, JobState]]:
    """Load one checkpoint: its number and the states by job name.

    Raises one of tensor_file.DAMAGE if it is damaged, and UnreadableError if another version wrote it.
    """
    meta, arrays = tensor_file.read(path, _MAX_BYTES)
    if meta["version"] != _VERSION:
        raise UnreadableError(f"{path} was written by another version of Somersault: open it with that version.")
    states = {job: JobState({}, dict(values)) for job, values in meta["values"].items()}
    for name, array in arrays.items():
        job, _, array_name = name.partition("/")
        states[job].arrays[array_name] = array
    return require_count(meta["number"]), states
