"""A copy of a session's answers outside its folder, in case the folder is deleted while the session is open."""

import os
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO

from core.config import Config
from core.io import files
from core.preferences.store import LOG, MAX_LOG, Contents, decode
from core.session.preference_export import write_store
from core.session.session import Session

_LARGEST = 64 << 20


class AnswerCopy:
    """Copies a store as it grows, into an unnamed temporary file. Use it in one thread."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._file: IO[bytes] | None = None
        self._log = bytearray()
        self._places: dict[str, tuple[int, int]] = {}
        """Start and length of each answer's file in the copy."""

    def update(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Copy what was added to the store since the last call, or as much of it as is copied when `stopped` is True.

        Raise one of tensor_file.DAMAGE if the store can't be read; what was copied so far is kept.
        """
        log = bytes(files.read_regular(self._store / LOG, MAX_LOG))
        log = log[: log.rfind(b"\n") + 1]
        if log[: len(self._log)] != self._log:
            raise ValueError("another store has taken its place")
        self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        for line in log[len(self._log) :].splitlines(keepends=True):
            if stopped():
                return
            body = decode(line.rstrip(b"\n"))
            if body["do"] == "add":
                self._add(self._file, f"{body['answer']['id']:08d}.safetensors")
            self._log += line

    def write_session(self, folder: Path, config: Config, write_more: Callable[[Path], None]) -> Session:
        """Make a session with these answers in a new folder, on disk. Raise UserError if that is impossible.

        write_more: writes other files of the session into the folder; may raise OSError
        """
        files.require_empty(folder)
        with files.new_folder(folder) as inside, closing(Session.create(inside, config)) as session:
            write_store(self._contents(), inside)
            write_more(inside)
            session.reader().close()  # raises UserError unless the copy is a whole store
        return Session.open(folder)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _add(self, file: IO[bytes], name: str) -> None:
        """Copy the file of an answer, which has a temporary name until shortly after its line is in the log."""
        path = self._store / name
        if os.path.lexists(path.with_suffix(".part")):
            path = path.with_suffix(".part")
        try:
            content = files.read_regular(path, _LARGEST)
        except FileNotFoundError:  # renamed meanwhile
            content = files.read_regular(self._store / name, _LARGEST)
        start = file.seek(0, os.SEEK_END)
        file.write(content)
        file.flush()
        self._places[name] = start, len(content)

    def _contents(self) -> Contents:
        yield LOG, bytes(self._log)
        if self._file:
            for name, (start, length) in self._places.items():
                self._file.seek(start)
                yield name, self._file.read(length)
