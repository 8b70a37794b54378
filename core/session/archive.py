"""A session as one file, to keep or to give to another person; and back.

The file is a zip with exactly these members: somersault.json (the format's number), config.json, preferences.sqlite,
checkpoints/NUMBER.safetensors, policies/STEPS.safetensors and, once there are curves, metrics.safetensors. Whoever made
it is not trusted: members are written under names of our own making, sizes are checked before anything is read, and the
session appears under its name only once all of it has been read and found whole; damaged curves alone are let through,
as no session needs them.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.io import files
from core.io.segment_codec import require_unpackable
from core.preferences.store import PreferenceStore
from core.session import checkpoint, policy_snapshots
from core.session.compatibility import require_fitting
from core.session.session import Session, read_config, training_files
from core.version import COMMAND_LINE

_FORMAT = 1
_MANIFEST, _CONFIG, _STORE = "somersault.json", "config.json", "preferences.sqlite"
_ALLOWED = re.compile(
    r"somersault\.json|config\.json|preferences\.sqlite|metrics\.safetensors|checkpoints/[0-9]{8,12}\.safetensors"
    rf"|{policy_snapshots.FOLDER}/[0-9]{{12,13}}\.safetensors",
    re.ASCII,
)
_MAX_MEMBERS = 16
"""Without the policies, of which there may be snapshots.KEPT."""
_MAX_SIZE = 4 << 30
"""Bytes unpacked, of all members together."""
_MAX_RATIO = 100
"""Packed so much smaller than it is, a large member is no session's: numbers in floating point hardly shrink."""
_UNSUSPICIOUS = 16 << 20
_MAX_READ = 1 << 20
"""No single read is larger: zipfile would otherwise take as much memory for the list of members as the file claims."""
_CHUNK = 1 << 18
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    KeyError,
    OverflowError,
)


def export_session(session: Session, target: Path, go_on: Callable[[], None] = lambda: None) -> None:
    """Writes the session as one file; one that was there is replaced. UserError where it can't be written.

    The session may go on meanwhile: what gives way to something newer before its turn is left out.
    go_on: called many times a second; what it raises ends the export, and nothing is left of it.
    """
    part, copy = (target.with_name(f"{target.name}.{kind}.part") for kind in ("zip", "sqlite"))
    paths = training_files(session.folder)  # before the answers are copied: none that they build on may be missing
    try:
        with closing(session.store()) as store:
            store.copy_to(copy, go_on)
        with open(part, "wb", buffering=0) as raw, _Watched(raw, go_on) as file:
            _pack(session.folder, paths, copy, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
        files.sync_folder(target.parent)
    except OSError as error:
        raise UserError(f"{target} can't be written ({files.reason(error)}): {files.remedy(error)}.") from error
    finally:
        for leftover in (part, copy):
            files.clear_away(leftover)


class _Watched(io.BufferedWriter):
    """A file that asks before each piece whether to go on."""

    def __init__(self, raw: io.FileIO, go_on: Callable[[], None]) -> None:
        super().__init__(raw, _CHUNK)
        self._go_on = go_on

    def write(self, data: Any, /) -> int:
        self._go_on()
        return super().write(data)


def _pack(folder: Path, paths: list[Path], store: Path, file: io.BufferedWriter) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as archive:
        files.add_to_zip(archive, _MANIFEST, json.dumps({"format": _FORMAT}))
        archive.write(folder / _CONFIG, _CONFIG)
        archive.write(store, _STORE)
        for path in paths:
            with suppress(FileNotFoundError):  # of two checkpoints the newer one is listed too
                archive.write(path, path.relative_to(folder).as_posix())


def import_session(source: Path, folder: Path) -> None:
    """Makes `folder` of an exported session, or leaves no trace. UserError says in one sentence what is wrong."""
    files.require_empty(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", suffix=".part", dir=folder.parent) as made:
            inside = Path(made) / "session"
            _unpack(source, inside)
            _examine(inside, source)
            files.sync_tree(inside)
            if folder.exists():
                folder.rmdir()
            os.replace(inside, folder)
            files.sync_folder(folder.parent)
    except OSError as error:
        raise UserError(f"{folder} can't be written ({files.reason(error)}): {files.remedy(error)}.") from error


def _unpack(source: Path, inside: Path) -> None:
    with _opened(source) as archive:
        members = archive.infolist()
        _check_members(source, members)
        wanted = sum(member.file_size for member in members)
        if wanted > shutil.disk_usage(inside.parent).free:
            raise UserError(f"{source} needs {wanted >> 20} MB unpacked: make room on the disk, then try again.")
        for name in ("checkpoints", policy_snapshots.FOLDER):
            (inside / name).mkdir(parents=True)
        for member in members:
            with archive.open(member) as packed, open(inside / member.filename, "xb") as file:
                shutil.copyfileobj(packed, file, _CHUNK)  # never more than file_size, which has been checked
        if json.loads((inside / _MANIFEST).read_bytes())["format"] != _FORMAT:
            raise UserError(f"{source} was written by another version of Somersault: import it with that one.")
        (inside / _MANIFEST).unlink()


@contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    try:
        raw = io.FileIO(source)
    except OSError as error:
        raise UserError(f"{source} can't be read ({files.reason(error)}): name a file that export wrote.") from error
    with _Careful(raw) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except (*_DAMAGE, TypeError, RecursionError) as error:
            raise UserError(f"{source} is no exported session, or it is damaged ({_brief(error)}).") from error
        except OSError as error:
            if error.errno != errno.EINVAL:  # a lie about where something is ends in a seek to before the start
                raise
            raise UserError(f"{source} is no exported session, or it is damaged ({_brief(error)}).") from error


class _Careful(io.BufferedReader):
    """A file that refuses to be read in large pieces."""

    def read(self, size: int | None = -1, /) -> bytes:
        left = os.fstat(self.fileno()).st_size - self.tell()
        if (left if size is None or size < 0 else size) > _MAX_READ:
            raise zipfile.BadZipFile("its list of members is too long")
        return super().read(size)


def _check_members(source: Path, members: list[zipfile.ZipInfo]) -> None:
    """Exactly what a session has, once each, as plain files of a believable size."""
    names = [member.filename for member in members]
    for member in members:
        plain = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) and not member.flag_bits & 1
        if (
            not _ALLOWED.fullmatch(member.filename)
            or not plain
            or stat.S_IFMT(member.external_attr >> 16) & ~stat.S_IFREG
        ):
            raise UserError(f"{source} has a member that no session has, {member.filename[:80]!r}: nothing was read.")
        if member.file_size > _UNSUSPICIOUS and member.file_size > _MAX_RATIO * max(1, member.compress_size):
            raise UserError(f"{source} would unpack to far more than it seems to hold: nothing was read.")
    small = [member for member in members if member.filename in (_MANIFEST, _CONFIG)]
    policies = sum(name.startswith(policy_snapshots.FOLDER) for name in names)
    crowded = policies > policy_snapshots.KEPT or len(names) - policies > _MAX_MEMBERS
    if len(set(names)) < len(names) or crowded:
        raise UserError(f"{source} has a member twice, or too many: nothing was read.")
    if sum(m.file_size for m in members) > _MAX_SIZE or any(m.file_size > _MAX_READ for m in small):
        raise UserError(f"{source} is larger than a session can be: nothing was read.")
    if missing := {_MANIFEST, _CONFIG, _STORE} - {member.filename for member in members if member.file_size}:
        raise UserError(f"{source} is no exported session: it has no {sorted(missing)[0]}.")


def _examine(folder: Path, source: Path) -> None:
    """Opens everything once. The sentences tell of the file that the person knows."""
    try:
        config = read_config(folder)
        with closing(PreferenceStore(folder / _STORE)) as store:
            require_fitting(store, config, remedy="ask for it once more")
            for kept in store.iter_records():  # one at a time: all of them would fill the memory
                for segment in (kept.preference.query.left, kept.preference.query.right):
                    require_unpackable(segment)
        checkpoint.load_newest(folder / "checkpoints")
        policy_snapshots.PolicySnapshots(folder).infos()  # one that is damaged is left out, here as later
    except (UserError, ValueError) as error:
        inner = str(error).replace(str(folder), "what is in it").split(f": {COMMAND_LINE}")[0].rstrip(".")
        raise UserError(f"{source} was not imported: {inner}.") from error


def _brief(error: BaseException) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
