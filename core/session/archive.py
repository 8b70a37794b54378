"""Export of a session to one file, and import of such a file as a new session.

The file is a zip archive with only the members in _ALLOWED; somersault.json has the format version. It may come from
another person: names and sizes are checked before anything is unpacked, and the folder gets its name only after
everything was read and found undamaged. Damaged curves, earlier policies, votes and pictures are accepted, as no session
requires them.
"""

import errno
import io
import json
import os
import re
import shutil
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.io import files
from core.preferences.store import FILE_NAME, FOLDER, LOG, MAX_LOG, PreferenceStore
from core.session import checkpoint, metrics_file, policy_snapshots, summary
from core.session.checkpoint import CHECKPOINTS
from core.session.compatibility import require_whole
from core.session.library import derived_summary
from core.session.session import CONFIG, Session, read_config, training_files
from core.voting import record

SUFFIX = ".somersault"
_FORMAT = 2
_MANIFEST, _LOG = "somersault.json", f"{FOLDER}/{LOG}"
_ALLOWED = re.compile(
    "|".join(re.escape(name) for name in (_MANIFEST, CONFIG, _LOG, metrics_file.NAME, record.NAME, summary.PICTURE))
    + rf"|{FOLDER}/{FILE_NAME}|{CHECKPOINTS}/{checkpoint.FILE_NAME}"
    rf"|{policy_snapshots.FOLDER}/{policy_snapshots.FILE_NAME}",
    re.ASCII,
)
_MAX_OTHERS = 16
"""Most members other than answers and policies."""
_MAX_SIZE = 16 << 30
"""Largest size of all members together in bytes, unpacked."""
_MAX_RATIO = 100
"""Largest compression ratio of a member of more than _UNSUSPICIOUS bytes. Floating-point numbers compress little."""
_UNSUSPICIOUS = 16 << 20
_MAX_READ = 8 << 20
"""Most bytes of a single read. zipfile reads the list of members at once, with the size that the file claims."""
_MAX_SMALL = 4 << 20
"""Largest size in bytes of the manifest and of the config."""
_CHUNK = 1 << 18
_PUT_BACK = "put a copy"
"""Start of the advice in error messages about a session's damaged files, which does not apply to an exported session."""
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    KeyError,
    OverflowError,
    TypeError,
)


def export_session(session: Session, target: Path, check_cancelled: Callable[[], None] = lambda: None) -> None:
    """Write the session to one file, replacing an existing one.

    The session may be in use: a checkpoint that is replaced meanwhile is left out.

    check_cancelled: called many times per second; an exception from it cancels the export, and no file is left

    Raises UserError if the file can't be written, or if it could not be imported: if an answer or all checkpoints are damaged.
    """
    checkpoint.load_newest(session.folder / CHECKPOINTS)
    with files.replaced(target) as part, open(part, "wb", buffering=0) as raw, _Watched(raw, check_cancelled) as file:
        with (
            closing(session.reader()) as store,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as archive,
        ):
            files.add_to_zip(archive, _MANIFEST, json.dumps({"format": _FORMAT}))
            archive.write(session.folder / CONFIG, CONFIG)
            with suppress(OSError):  # there is no picture yet, or it is damaged, and no session requires it
                picture = files.read_regular(session.folder / summary.PICTURE, summary.MAX_PICTURE)
                files.add_to_zip(archive, summary.PICTURE, picture)
            # Before the answers, so that the archive has every answer that the votes and checkpoints refer to.
            for path in (session.folder / record.NAME, *training_files(session.folder)):
                # No votes, or a newer checkpoint has replaced this one; it is listed too.
                with suppress(FileNotFoundError):
                    archive.write(path, path.relative_to(session.folder).as_posix())
            for row in store.rows():
                check_cancelled()
                store.answer(row.id)
            for name, content in store.snapshot():
                files.add_to_zip(archive, f"{FOLDER}/{name}", content)
        file.flush()
        os.fsync(file.fileno())


class _Watched(io.BufferedWriter):
    """File that calls `check_cancelled` before each write."""

    def __init__(self, raw: io.FileIO, check_cancelled: Callable[[], None]) -> None:
        super().__init__(raw, _CHUNK)
        self._check_cancelled = check_cancelled

    def write(self, data: Any, /) -> int:
        self._check_cancelled()
        return super().write(data)


def import_session(source: Path, folder: Path) -> None:
    """Create `folder` from an exported session. Raises UserError, and leaves no folder, if the file is not valid."""
    with files.new_folder(folder) as inside:
        _unpack(source, inside)
        try:
            config = read_config(inside)
            with closing(PreferenceStore(inside / FOLDER, read_only=True)) as store:
                require_whole(store, config, _PUT_BACK)
            checkpoint.load_newest(inside / CHECKPOINTS)
            summary.write(inside, derived_summary(inside, config, time.time()))
        except (UserError, ValueError) as error:
            reason = str(error).replace(f"{inside}{os.sep}", "").replace(str(inside), "its session")
            reason = reason.split(f": {_PUT_BACK}")[0].rstrip(".")
            raise UserError(f"{source} was not imported: {reason}; ask for a new export of the session.") from error


def _unpack(source: Path, inside: Path) -> None:
    with _opened(source) as archive:
        members = archive.infolist()
        _check_members(source, members)
        total = sum(member.file_size for member in members)
        if total > shutil.disk_usage(inside.parent).free:
            raise UserError(f"{source} needs {total >> 20} MB unpacked: make room on the disk, then try again.")
        for name in (FOLDER, CHECKPOINTS, policy_snapshots.FOLDER):
            (inside / name).mkdir()
        for member in members:
            with archive.open(member) as packed, open(inside / member.filename, "xb") as file:
                shutil.copyfileobj(packed, file, _CHUNK)  # never more than file_size, which has been checked
        if json.loads((inside / _MANIFEST).read_bytes())["format"] != _FORMAT:
            raise UserError(f"{source} was written by another version of Somersault: import it with that one.")
        (inside / _MANIFEST).unlink()


@contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file. Raises UserError for errors in the block that are caused by its content."""
    try:
        raw = io.FileIO(source)
    except OSError as error:
        raise UserError(f"{source} can't be read ({files.reason(error)}): check its name and permissions.") from error
    with _Careful(raw) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except (*_DAMAGE, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a seek to before the start is damage
                raise
            brief = " ".join(str(error).split())[:120] or type(error).__name__
            raise UserError(f"{source} is not an exported session, or is damaged ({brief}).") from error


class _Careful(io.BufferedReader):
    """File that raises BadZipFile for large reads."""

    def read(self, size: int | None = -1, /) -> bytes:
        left = os.fstat(self.fileno()).st_size - self.tell()
        if (left if size is None or size < 0 else size) > _MAX_READ:
            raise zipfile.BadZipFile("its list of members is too long")
        return super().read(size)


def _check_members(source: Path, members: list[zipfile.ZipInfo]) -> None:
    """Raise UserError unless the members are those of a session, without duplicates, as plain files of plausible size."""
    names = {member.filename for member in members}
    for member in members:
        plain = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) and not member.flag_bits & 1
        kind = stat.S_IFMT(member.external_attr >> 16)
        if not _ALLOWED.fullmatch(member.filename) or not plain or kind & ~stat.S_IFREG:
            raise UserError(
                f"{source} contains a file that does not belong in a session, {member.filename[:80]!r}: nothing was read."
            )
        if member.file_size > _UNSUSPICIOUS and member.file_size > _MAX_RATIO * max(1, member.compress_size):
            raise UserError(f"{source} would unpack to far more than its size suggests: nothing was read.")
    policies = sum(name.startswith(policy_snapshots.FOLDER) for name in names)
    others = sum(not name.startswith((policy_snapshots.FOLDER, FOLDER)) for name in names)
    if len(names) < len(members) or policies > policy_snapshots.KEPT or others > _MAX_OTHERS:
        raise UserError(f"{source} contains a file twice, or too many files: nothing was read.")
    limits = {_MANIFEST: _MAX_SMALL, CONFIG: _MAX_SMALL, _LOG: MAX_LOG, record.NAME: record.MAX_BYTES}
    limits[summary.PICTURE] = summary.MAX_PICTURE
    if (
        any(m.file_size > limits.get(m.filename, _MAX_SIZE) for m in members)
        or sum(m.file_size for m in members) > _MAX_SIZE
    ):
        raise UserError(f"{source} is larger than a session can be: nothing was read.")
    if missing := {_MANIFEST, CONFIG, _LOG} - names:
        raise UserError(f"{source} is not an exported session: it has no {sorted(missing)[0]}.")
