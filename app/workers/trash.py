"""Moving files to the desktop's trash, and restoring them."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QFile

from core.errors import UserError
from core.io import files


@dataclass(frozen=True)
class Trashed:
    """A file or folder in the trash. name: its name in messages; path: its place in the trash, or None if unknown"""

    name: str
    original: Path
    path: Path | None


def move_to_trash(path: Path, name: str) -> Trashed:
    """Move a file or folder to the trash. Raises UserError, and changes nothing, if that is impossible."""
    file = QFile(str(path))
    if not file.moveToTrash():
        raise UserError(f"{name} could not be moved to Trash ({file.errorString()}): delete {path} yourself.")
    there = file.fileName()  # Qt has set it to the path in the trash, or to nothing
    return Trashed(name, path, Path(there) if there else None)


def restore(trashed: Trashed) -> None:
    """Move it from the trash back to its original path. Raises UserError, and changes nothing, if that is impossible."""
    files.require_new(trashed.original, "move that away first")
    if trashed.path is None or not trashed.path.exists():
        raise UserError(f"{trashed.name} is no longer in Trash.")
    try:
        trashed.original.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(trashed.path, trashed.original)
    except OSError as error:
        raise files.unwritable(trashed.original, error) from error
    files.clear_away(trashed.path.parent.parent / "info" / f"{trashed.path.name}.trashinfo")  # freedesktop.org's record
