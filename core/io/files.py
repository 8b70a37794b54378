"""Files: written so that a crash leaves the old one or the new one, and read without believing what they claim."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import UserError


def write_atomically(path: Path, content: bytes) -> None:
    """Writes, syncs and renames: after a crash or a power cut the file is the old one or the new one, never half.

    UserError where it can't be written, also where its folder is gone; the old one is untouched then.
    """
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb", opener=no_link) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        sync_folder(path.parent)
    except OSError as error:
        clear_away(part)  # half a file would only take room that is wanted
        raise UserError(f"{path} can't be written ({reason(error)}): {remedy(error)}.") from error


def clear_away(path: Path) -> None:
    """Deletes what could not be finished. Where that fails too, it is the first failure that is told."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def require_new(path: Path, advice: str = "name a new one") -> None:
    """UserError where there is something. Unlike Path.exists it raises nothing else: writing tells what is wrong."""
    if os.path.exists(path):
        raise UserError(f"{path} is there already: {advice}.")


def require_empty(folder: Path) -> None:
    """UserError unless a session can be made here: where there is nothing yet, or an empty folder."""
    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as error:
        raise UserError(f"{folder} can't be made ({reason(error)}): {remedy(error)}.") from error
    if taken:
        raise UserError(f"{folder} is not an empty folder: name a new one for the session.")


def no_link(path: str, flags: int) -> int:
    """An opener for files in a session's folder. OSError where the path is a link: whoever made the folder may have
    pointed it at another file of the person's. Windows, where making one takes a right of its own, can't tell.
    """
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def open_regular(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file without waiting; an opener for `open`.

    Raises OSError if the path is a symbolic link, a folder, a pipe or a device. On Windows links are followed.
    """
    extra = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | extra)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


def read_regular(path: Path, limit: int) -> bytearray:
    """Content of a regular file of up to `limit` bytes.

    Raises OSError if it is larger, truncated meanwhile, or not a regular file.
    """
    with open(path, "rb", opener=open_regular) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise OSError(errno.EFBIG, "its size is not believable", str(path))
        content = bytearray(size)
        if file.readinto(content) != size:
            raise OSError(errno.EIO, "it could not be read to its end", str(path))
        return content


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside `target` that becomes `target`, on disk, at the end; or leave no trace.

    Raises UserError if it cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{target.name}.", suffix=".part", dir=target.parent) as made:
            inside = Path(made) / target.name
            inside.mkdir()
            yield inside
            sync_tree(inside)
            if target.exists():
                target.rmdir()
            os.replace(inside, target)
            sync_folder(target.parent)
    except OSError as error:
        raise UserError(f"{target} can't be written ({reason(error)}): {remedy(error)}.") from error


def make_inside(folder: Path) -> None:
    """Makes a folder in one that is there, and on disk, where there is none yet. UserError where it can't be made.

    The one that it is in is never made: a session that was moved away while it was open would go on as a ghost.
    """
    if folder.is_dir():
        return
    try:
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise UserError(f"{folder} can't be written ({reason(error)}): {remedy(error)}.") from error


def require_session(folder: Path) -> None:
    """UserError where the session's folder was moved away or deleted while it is open."""
    if not (folder / "config.json").is_file():
        raise _gone(folder)


def _gone(path: Path) -> UserError:
    return UserError(f"{path} is gone: bring the session's folder back, then try again.")


def identity(path: Path) -> tuple[int, int] | None:
    """Which file it is that has this name now; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def require_same(path: Path, was: tuple[int, int] | None) -> None:
    """UserError where the session's file that is open is not found by this name any more: all that is written is lost.

    was: its identity when it was opened
    """
    found = identity(path)
    if found is None:
        raise _gone(path)
    if found != was:
        raise UserError(f"{path} was replaced by another copy: close the session and open it again.")


def add_to_zip(archive: zipfile.ZipFile, name: str, text: str | bytes | bytearray) -> None:
    """Without a time: zip knows no year before 1980, but clocks do."""
    member = zipfile.ZipInfo(name)
    member.external_attr = 0o600 << 16
    archive.writestr(member, text, zipfile.ZIP_DEFLATED)


def sync_tree(folder: Path) -> None:
    """Puts all that is in it on disk, before it gets the name under which it is found. OSError where it can't be."""
    for path in (*folder.rglob("*"), folder):
        if path.is_dir():
            sync_folder(path)
        else:
            with open(path, "r+b" if os.name == "nt" else "rb") as file:  # Windows syncs only what it may write
                os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """A rename is on disk only when its folder is. Windows can't sync one, and needs not: NTFS journals renames."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def remedy(error: OSError) -> str:
    """What a person can do about it."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "make room on the disk, then try again"
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return "check that the folder may be written"
        case errno.ENOENT | errno.ENOTDIR:
            return "check that the folder is still there"
        case errno.ENAMETOOLONG:
            return "give it a shorter name"
        case errno.ELOOP:
            return "look for a link in its folder that leads elsewhere, then try again"
        case _:
            return "check the disk and its folder"


def read_small(path: Path, limit: int) -> bytes:
    """Content of a regular file. Raises ValueError, before reading, if it has more than `limit` bytes; OSError."""
    with open(path, "rb", opener=open_regular) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(min(size, limit) + 1)  # no more room than that is asked for
    if max(size, len(content)) > limit:
        raise ValueError(f"it has more than {limit} bytes")
    return content


def whole(value: Any) -> int:
    """A value from a file that must be a count or a number of something; ValueError where it is not."""
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError(f"{value!r:.40} is no whole number")
    return value
