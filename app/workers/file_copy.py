"""Copies of an open session's earlier policies and votes outside its folder, in case the folder is deleted."""

import logging
import os
import tempfile
from pathlib import Path
from typing import IO

from core.io import files
from core.session import policy_snapshots
from core.voting import record

log = logging.getLogger(__name__)
_IN_MEMORY = 1 << 20
"""Bytes of one file up to which its copy stays in memory, as policies of robots do; a larger one has an unnamed file."""
_MAX_TOTAL = 96 << 20
_LARGEST = 64 << 20


class FileCopy:
    """Copies files as the session writes them. Use it in one thread.

    The copy of a deleted file is kept, as the folder may be deleted next, unless more policies are copied than a
    session keeps, or all copies exceed _MAX_TOTAL.
    """

    def __init__(self, session: Path) -> None:
        self._folder = session
        self._copies: dict[str, tuple[tuple[int, int], IO[bytes]]] = {}
        """Time and size of each file, and its copy, by its path in the folder."""

    @property
    def policies(self) -> int:
        """Number of policies that are copied."""
        return sum(name.startswith(policy_snapshots.FOLDER) for name in self._copies)

    def update(self) -> int:
        """Copy what is new or has changed, except files that can't be read. Return the number of copies."""
        policies = policy_snapshots.PolicySnapshots(self._folder).files()
        votes = self._folder / record.NAME
        paths = {path.relative_to(self._folder).as_posix(): path for path in (*policies, votes)}
        for name, path in paths.items():
            try:
                self._copy(name, path)
            except FileNotFoundError:  # none yet, or deleted meanwhile
                continue
            except OSError as error:
                log.warning("%s was not copied: %s", path, error)
        for name in sorted(set(self._copies) - set(paths)):
            if self._full:
                self._copies.pop(name)[1].close()
        return len(self._copies)

    @property
    def _full(self) -> bool:
        total = sum(size for (_, size), _ in self._copies.values())
        return self.policies > policy_snapshots.KEPT or total > _MAX_TOTAL

    def write(self, folder: Path) -> None:
        """Write all copies into another session's folder. Raise OSError if that is impossible."""
        for name, (_, copy) in self._copies.items():
            copy.seek(0)
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(copy.read())

    def close(self) -> None:
        for _, copy in self._copies.values():
            copy.close()

    def _copy(self, name: str, path: Path) -> None:
        found = os.lstat(path)
        state = found.st_mtime_ns, found.st_size
        before = self._copies.get(name)
        if before and before[0] == state:
            return
        content = files.read_regular(path, _LARGEST)
        copy = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by `close`
        copy.write(content)
        self._copies[name] = state, copy
        if before:
            before[1].close()
