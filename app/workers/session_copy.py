"""A copy of an open session outside its folder, in case the folder is deleted or its disk vanishes."""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from core.config import Config
from core.io import files
from core.preferences.store import FOLDER, LOG, MAX_LOG, decode, read_file
from core.session import policy_snapshots
from core.session.session import Session
from core.voting import record

log = logging.getLogger(__name__)
_LARGEST = 64 << 20
"""Bytes of a policy or of the votes."""


class SessionCopy:
    """Copies answers, earlier policies and votes as the session writes them. Use it in one thread.

    The copy is in a temporary folder, which stays if the process is killed.
    """

    def __init__(self, folder: Path) -> None:
        """folder: the session's"""
        self._session = folder
        self._made: tempfile.TemporaryDirectory[str] | None = None
        self._log = bytearray()
        """Lines whose answers are copied."""
        self._copied: dict[str, tuple[int, int]] = {}
        """Time in ns and bytes of each other file that is copied, by its path in the session's folder."""

    @property
    def policies(self) -> int:
        """Number of policies that are copied."""
        return sum(name != record.NAME for name in self._copied)

    def update(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Copy what is new since the last call, or as much of it as is copied when `stopped` is True.

        Files other than answers are left out if they can't be read. Raise one of tensor_file.DAMAGE if the answers can't
        be read, or nothing can be written; what was copied so far is kept.
        """
        self._made = self._made or tempfile.TemporaryDirectory(prefix="somersault-")
        self._copy_answers(stopped)
        policies = policy_snapshots.PolicySnapshots(self._session).files()
        paths = {path.relative_to(self._session).as_posix(): path for path in (*policies, self._session / record.NAME)}
        if any(name != record.NAME and name not in self._copied for name in paths):
            for name in self._copied.keys() - paths.keys():  # the session saves policies, and has deleted this one
                del self._copied[name]
                files.clear_away(Path(self._made.name, name))
        for name, path in paths.items():
            if stopped():
                return
            self._copy_other(name, path)

    def write_session(self, folder: Path, config: Config) -> Session:
        """Make a session of what is copied in a new folder, on disk. Raise UserError if that is impossible."""
        files.require_empty(folder)
        with files.new_folder(folder) as inside, closing(Session.create(inside, config)) as session:
            if self._made is not None:
                shutil.copytree(self._made.name, inside, dirs_exist_ok=True)
            (inside / FOLDER / LOG).write_bytes(self._log)
            session.reader().close()  # raises UserError unless the copy is a whole store
        return Session.open(folder)

    def close(self) -> None:
        if self._made is not None:
            self._made.cleanup()

    def _copy_answers(self, stopped: Callable[[], bool]) -> None:
        store = self._session / FOLDER
        if os.stat(store / LOG).st_size == len(self._log):  # nothing in it is ever rewritten
            return
        lines = bytes(files.read_regular(store / LOG, MAX_LOG))
        lines = lines[: lines.rfind(b"\n") + 1]
        if lines[: len(self._log)] != self._log:
            raise ValueError("another store has taken its place")
        for line in lines[len(self._log) :].splitlines(keepends=True):
            if stopped():
                return
            body = decode(line.rstrip(b"\n"))
            if body["do"] == "add":
                name, content = read_file(store, body["answer"]["id"])
                self._write(f"{FOLDER}/{name}", content)
            self._log += line

    def _copy_other(self, name: str, path: Path) -> None:
        try:
            found = os.lstat(path)
            if self._copied.get(name) != (found.st_mtime_ns, found.st_size):
                content = files.read_regular(path, _LARGEST)
                self._write(name, content)
                self._copied[name] = found.st_mtime_ns, found.st_size
        except FileNotFoundError:  # none yet, or deleted meanwhile
            pass
        except OSError as error:
            log.warning("%s was not copied: %s", path, error)

    def _write(self, name: str, content: bytearray) -> None:
        """Write a file of the copy, or none."""
        assert self._made is not None
        path = Path(self._made.name, name)
        try:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        except OSError:
            files.clear_away(path)
            raise
