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
    """Move a file or folder to the trash. Raise UserError, and change nothing, if that is impossible."""
    file = QFile(str(path))
    if not file.moveToTrash():
        raise UserError(f"{name} could not be moved to Trash ({file.errorString()}): delete {path} yourself.")
    there = file.fileName()  # Qt has set it to the path in the trash, or to nothing
    return Trashed(name, path, Path(there) if there else None)


def restore(thrown: Trashed) -> None:
    """Move it from the trash back to its original path. Raise UserError, and change nothing, if that is impossible."""
    files.require_new(thrown.original, "move that away first")
    if thrown.path is None or not thrown.path.exists():
        raise UserError(f"{thrown.name} is no longer in Trash.")
    try:
        thrown.original.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(thrown.path, thrown.original)
    except OSError as error:
        raise files.unwritable(thrown.original, error) from error
    files.clear_away(thrown.path.parent.parent / "info" / f"{thrown.path.name}.trashinfo")  # freedesktop.org's record
