"""A copy of an open session outside its folder, in case the folder is deleted or its disk vanishes."""

import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

from platformdirs import user_cache_dir

from core.config import Config
from core.io import files
from core.preferences.store import FOLDER, LOG, MAX_LOG, decode, read_file
from core.session import policy_snapshots
from core.session.session import Session
from core.voting import record

log = logging.getLogger(__name__)
_LARGEST = 64 << 20
"""Bytes of a policy or of the votes."""
_MAX_TOTAL = 96 << 20
"""Bytes of all policies and votes, above which copies of deleted ones are dropped."""


class SessionCopy:
    """Copies answers, earlier policies and votes as the session writes them, into unnamed files. Use it in one thread.

    The copy of a deleted policy is kept, as the whole folder may be deleted next, until there are more copies of policies
    than policy_snapshots.KEPT, or all copies but the answers exceed _MAX_TOTAL.
    """

    def __init__(self, folder: Path) -> None:
        """folder: the session's"""
        self._session = folder
        self._log = bytearray()
        """Lines whose answers are copied."""
        self._answers: IO[bytes] | None = None
        self._places: dict[str, tuple[int, int]] = {}
        """Start and length of each answer's file in the copy of all answers."""
        self._others: dict[str, tuple[tuple[int, int], IO[bytes]]] = {}
        """Time in ns and bytes of each other file, and its copy, by its path in the session's folder."""

    @property
    def policies(self) -> int:
        """Number of policies that are copied."""
        return sum(name != record.NAME for name in self._others)

    def update(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Copy what is new since the last call; end early once `stopped` returns True.

        Files other than answers are left out if they can't be read. Raise one of tensor_file.DAMAGE if the answers can't
        be read, or nothing can be written; what was copied so far is kept.
        """
        self._copy_answers(stopped)
        policies = policy_snapshots.PolicySnapshots(self._session).files()
        paths = {path.relative_to(self._session).as_posix(): path for path in (*policies, self._session / record.NAME)}
        for name, path in paths.items():
            if stopped():
                return
            self._copy_other(name, path)
        for name in sorted(self._others.keys() - paths.keys()):  # the oldest first
            total = sum(size for (_, size), _ in self._others.values())
            if self.policies > policy_snapshots.KEPT or total > _MAX_TOTAL:
                self._others.pop(name)[1].close()

    def write_session(self, folder: Path, config: Config) -> Session:
        """Make a session of what is copied in a new folder, on disk. Raise UserError if that is impossible."""
        with files.new_folder(folder) as inside, closing(Session.create(inside, config)) as session:
            for name, content in self._contents():
                (inside / name).parent.mkdir(exist_ok=True)
                (inside / name).write_bytes(content)
            session.reader().close()  # raises UserError unless the copy is a whole store
        return Session.open(folder)

    def close(self) -> None:
        for copy in (self._answers, *(copy for _, copy in self._others.values())):
            if copy is not None:
                copy.close()

    def _copy_answers(self, stopped: Callable[[], bool]) -> None:
        store = self._session / FOLDER
        if os.stat(store / LOG).st_size == len(self._log):  # nothing in it is ever rewritten
            return
        lines = bytes(files.read_regular(store / LOG, MAX_LOG))
        lines = lines[: lines.rfind(b"\n") + 1]
        if lines[: len(self._log)] != self._log:
            raise ValueError("another store has taken its place")
        self._answers = self._answers or _unnamed_file()
        for line in lines[len(self._log) :].splitlines(keepends=True):
            if stopped():
                return
            body = decode(line.rstrip(b"\n"))
            if body["do"] == "add":
                name, content = read_file(store, body["answer"]["id"])
                start = self._answers.seek(0, os.SEEK_END)
                self._answers.write(content)
                self._answers.flush()
                self._places[f"{FOLDER}/{name}"] = start, len(content)
            self._log += line

    def _copy_other(self, name: str, path: Path) -> None:
        try:
            found = os.lstat(path)
            state, before = (found.st_mtime_ns, found.st_size), self._others.get(name)
            if before is not None and before[0] == state:
                return
            content = files.read_regular(path, _LARGEST)
        except FileNotFoundError:  # none yet, or deleted meanwhile
            return
        except OSError as error:
            log.warning("%s was not copied: %s", path, error)
            return
        copy = _unnamed_file()
        copy.write(content)
        copy.flush()
        self._others[name] = state, copy
        if before is not None:
            before[1].close()

    def _contents(self) -> Iterator[tuple[str, bytes]]:
        """Each file's path in a session's folder, and its content."""
        yield f"{FOLDER}/{LOG}", bytes(self._log)
        for name, (start, length) in self._places.items():
            assert self._answers is not None
            self._answers.seek(start)
            yield name, self._answers.read(length)
        for name, (_, copy) in self._others.items():
            copy.seek(0)
            yield name, copy.read()


def _unnamed_file() -> IO[bytes]:
    """Return a new file in the user's cache: the folder for temporary files may be in memory, which copies would fill."""
    folder = Path(user_cache_dir("somersault", appauthor=False))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=folder)
    except OSError:
        return tempfile.TemporaryFile()
