"""Files of a sweep's folder: a document for each cell that has ended, and a journal of the cells' states."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from core.config import Config
from core.errors import UserError
from core.io.files import reason, unwritable, write_atomically
from core.sweep.cell import Cell, Document, encode
from core.sweep.environment import versions

_CELLS, _SESSIONS, _JOURNAL = "cells", "sessions", "journal.jsonl"
_LARGEST = 1e15
"""Bound on the absolute values of a result's numbers, so that their sums and differences are finite."""


class CellFiles:
    """The folder of one sweep. Only the process that submits cells writes to it."""

    def __init__(self, folder: Path) -> None:
        """Create the folder if it does not exist. Raises UserError if that fails."""
        self.folder = folder
        try:
            (folder / _CELLS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error

    def session(self, cell: Cell) -> Path:
        """Return the folder of the session in which a cell is computed on this machine.

        Its name also depends on the versions of the program and its libraries: a session is continued only with the
        versions with which it began.
        """
        digest = hashlib.sha256(json.dumps(versions(), sort_keys=True).encode()).hexdigest()[:16]
        return self.folder / _SESSIONS / f"{cell.digest}-{digest}"

    def remove_sessions(self, cell: Cell) -> None:
        """Remove the sessions of a cell, including those of other versions. Errors are ignored."""
        folder = self.folder / _SESSIONS
        for session in folder.glob(f"{cell.digest}-*"):
            shutil.rmtree(session, ignore_errors=True)

    def remove_folder(self) -> None:
        """Remove the folder of all sessions if it is empty."""
        with contextlib.suppress(OSError):  # not empty: sessions of failed cells are continued in the next run
            (self.folder / _SESSIONS).rmdir()

    def path(self, cell: Cell) -> Path:
        return self.folder / _CELLS / f"{cell.digest}.json"

    def read(self, cell: Cell) -> Document | None:
        """Return the document of a cell that has ended, or None. Raises UserError if it is damaged."""
        path = self.path(cell)
        try:
            document: Document = json.loads(path.read_bytes())
            _require_whole(document, cell)
        except FileNotFoundError:
            return None
        except OSError as error:
            advice = "move it away" if path.is_dir() else "check its permissions"
            raise UserError(f"{path} can't be read ({reason(error)}): {advice}.") from error
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError, UserError) as error:
            raise UserError(f"{path} is damaged: delete it, and its cell is computed again.") from error
        return document

    def write(self, cell: Cell, document: Document) -> None:
        write_atomically(self.path(cell), encode({"made_with": versions(), **document}))

    def note(self, cell: Cell, state: str) -> None:
        """Add the cell's new state to the journal. Raises UserError if it can't be written."""
        line = json.dumps({"cell": cell.digest, "title": cell.title, "state": state})
        path = self.folder / _JOURNAL
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(path, error) from error


def _require_whole(document: Document, cell: Cell) -> None:
    """Raise ValueError, TypeError, KeyError or UserError unless the document is the cell's, and complete."""
    if Config.from_dict(document["config"]) != cell.config:
        raise ValueError("the config is another one")
    if document["state"] == "failed":
        whole = isinstance(document["reason"], str) and isinstance(document["traceback"], str)
    else:
        result = document["result"]
        counts = [result[name] for name in ("labels", "usable", "env_steps", "divergences")]
        returns = [result[name] for name in ("true_return", "random_return") if result[name] is not None]
        points = [number for steps, value in result["curve"] for number in (steps, value)]
        numbers = all(map(_is_number, [*counts, *returns, *points]))
        whole = document["state"] == "done" and numbers and isinstance(result["measure"], dict)
    if not whole:
        raise ValueError("a value is of another type")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < _LARGEST
