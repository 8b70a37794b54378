"""What is whole in a damaged store of answers, read from a copy: SQLite would forget what it can't read of the log."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path

from core.errors import UserError
from core.io import files
from core.preferences import mark, wal_check
from core.preferences.store import PreferenceStore, StoredPreference


def rescued(store: Path) -> tuple[list[StoredPreference], int]:
    """Every answer that is whole, in order, and how many are known to be lost. UserError where nothing can be read.

    A spoiled log holds earlier states of what the store itself has, so both ways are tried.
    """
    found: dict[int, StoredPreference] = {}
    known, refusals = mark.read(store).answers, []
    extent = wal_check.extent(store)
    for logged in (extent.whole, 0) if extent.spoiled else (extent.whole,):
        try:
            entries, lost = _salvaged(store, logged)
        except UserError as error:
            refusals.append(error)
            continue
        found = {kept.preference.id: kept for kept in entries} | found
        known = max(known, len(entries) + lost)
    if not found and refusals:
        raise refusals[0]
    return [found[key] for key in sorted(found)], known - len(found)


def _salvaged(store: Path, logged: int) -> tuple[list[StoredPreference], int]:
    """logged: bytes of the log that are believed."""
    try:
        with tempfile.TemporaryDirectory() as made:
            copy = Path(made) / store.name
            shutil.copyfile(store, copy)
            if logged:
                with open(wal_check.beside(store), "rb") as log:
                    wal_check.beside(copy).write_bytes(log.read(logged))
            try:
                with closing(PreferenceStore(copy, read_only=True)) as read:
                    return read.salvage()
            except UserError as error:
                raise UserError(str(error).replace(str(copy.parent), str(store.parent))) from error
    except OSError as error:
        raise UserError(
            f"{store} can't be copied to be read ({files.reason(error)}): {files.remedy(error)}."
        ) from error
