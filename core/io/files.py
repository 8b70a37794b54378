"""Files: atomic and durable writes, reads of bounded size, and error messages for the user."""

import contextlib
import errno
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from core.errors import UserError

CONFIG = "config.json"
"""File that makes a folder a session."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write, sync and rename a file: after a crash or power loss it has either its old or its new content.

    Raises UserError if it can't be written, for example because its folder is gone. The old file is unchanged then.
    """
    with replaced(path) as part:
        write_synced(part, content)


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files as `write_atomically` does, but rename them only when all are on disk. Raises UserError."""
    with contextlib.ExitStack() as parts:
        for path, content in contents.items():
            write_synced(parts.enter_context(replaced(path)), content)


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that is renamed to `path` at the end, or deleted after an error.

    Raises UserError for an OSError.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        yield part
        os.replace(part, path)
        sync_folder(path.parent)
    except OSError as error:
        raise _failed(path, part, error) from error
    finally:
        clear_away(part)


def write_synced(path: Path, content: bytes) -> None:
    """Create a file, replacing any file or link of that name, and sync it, but not its folder.

    Raises OSError, and leaves no file, if it can't be written.
    """
    path.unlink(missing_ok=True)
    try:
        with open(path, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        clear_away(path)
        raise


def clear_away(path: Path) -> None:
    """Delete an unfinished file if it exists. Errors are ignored."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def require_new(path: Path, advice: str = "name a new one") -> None:
    """Raise UserError if `path` exists. Other problems are reported when it is written."""
    if os.path.exists(path):  # Path.exists may raise OSError
        raise UserError(f"{path} already exists: {advice}.")


def require_empty(folder: Path) -> None:
    """Raise UserError unless `folder` is empty or does not exist, so that a session can be created there."""
    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as error:
        raise UserError(f"{folder} can't be made ({reason(error)}): {remedy(error)}.") from error
    if taken:
        raise UserError(f"{folder} is not an empty folder: name a new one.")


def open_regular(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file without blocking, or create it if `flags` allow it; an opener for `open`.

    Raises OSError if the path is a symbolic link, a folder, a pipe or a device. On Windows links are followed.
    """
    extra = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | extra, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


def read_regular(path: Path, limit: int) -> bytearray:
    """Return the content of a regular file of up to `limit` bytes.

    Raises OSError if it is larger, is truncated during the read, or is not a regular file.
    """
    with open(path, "rb", opener=open_regular) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise OSError(errno.EFBIG, "its size is impossible", str(path))
        content = bytearray(size)
        if file.readinto(content) != size:
            raise OSError(errno.EIO, "it could not be read to its end", str(path))
        return content


def read_linked(path: Path, limit: int) -> bytearray:
    """Read a file named by the user, as `read_regular` does, but follow symbolic links."""
    return read_regular(Path(os.path.realpath(path)), limit)


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield an empty temporary folder that is synced and renamed to `target` at the end, or deleted after an error.

    An existing `target` stays and receives the content: it may be the working directory. Raises UserError if it is not
    empty, and for an OSError.
    """
    require_empty(target)
    target = Path(os.path.realpath(target))  # . has no name, and a link may point to another disk
    part = target.parent
    try:
        there = os.path.isdir(target)
        part.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{target.name}.", suffix=".part", dir=part) as made:
            part, inside = Path(made), Path(made) / target.name
            inside.mkdir()
            yield inside
            sync_tree(inside)
            if there:
                for path in sorted(inside.iterdir(), key=lambda path: path.name == CONFIG):  # last: it is a session now
                    os.replace(path, target / path.name)
            else:
                os.replace(inside, target)
            sync_folder(target if there else target.parent)
    except OSError as error:
        raise _failed(target, part, error) from error


def make_inside(folder: Path) -> None:
    """Create and sync a folder if it does not exist. Raises UserError if it can't be created.

    Its parent is never created: a session moved away while open must not reappear as an empty folder.
    """
    if os.path.isdir(folder):  # Path.is_dir raises an error if a folder may not be read
        return
    try:
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise unwritable(folder, error) from error


def require_session(folder: Path) -> None:
    """Raise UserError if an open session's folder was moved away or deleted."""
    if not is_session(folder):
        raise _gone(folder)


def is_session(folder: Path) -> bool:
    """Return whether the folder is a session; False if it can't be read."""
    return os.path.isfile(folder / CONFIG)  # Path.is_file raises an error if a folder may not be read


def identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the file at this path; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def require_same(path: Path, opened: tuple[int, int] | None) -> None:
    """Raise UserError if an open file is no longer at this path, so that data written to it would be lost.

    opened: its `identity` when it was opened
    """
    current = identity(path)
    if current is None:
        raise _gone(path)
    if current != opened:
        raise UserError(f"{path} was replaced by another copy: close the session and open it again.")


def _gone(path: Path) -> UserError:
    return UserError(f"{path} is gone. Bring the session's folder back, then try again.")


def add_to_zip(archive: zipfile.ZipFile, name: str, text: str | bytes | bytearray) -> None:
    """Add a file without a modification time: a wrong clock may show a year before 1980, which zip can't represent."""
    member = zipfile.ZipInfo(name)
    member.external_attr = 0o600 << 16
    archive.writestr(member, text, zipfile.ZIP_DEFLATED)


def sync_tree(folder: Path) -> None:
    """Sync a folder and everything in it to disk. Raises OSError."""
    for path in (*folder.rglob("*"), folder):
        if path.is_dir():
            sync_folder(path)
        else:
            with open(path, "r+b" if os.name == "nt" else "rb") as file:  # Windows syncs only writable files
                os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, including the renames in it.

    Neither possible nor needed on Windows (NTFS journals them); some shared folders of virtual machines and older network
    drives refuse it with EINVAL.
    """
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def _failed(target: Path, part: Path, error: OSError) -> UserError:
    """Return the error for a failure in writing `target` through `part`, or in reading another file for it."""
    named = Path(error.filename) if isinstance(error.filename, str) else part
    if named.is_relative_to(part) or target.is_relative_to(named):
        return unwritable(target, error)
    return UserError(f"{named} can't be read ({reason(error)}): check that it still exists, and its permissions.")


def unwritable(path: Path, error: OSError) -> UserError:
    return UserError(f"{path} can't be written ({reason(error)}): {remedy(error)}.")


def reason(error: Exception) -> str:
    """Return the reason of an error; for an OSError, without its number and path."""
    if not isinstance(error, OSError):
        return str(error)
    if error.errno == errno.ELOOP:
        return "it is a symbolic link"  # open_regular refuses it; so is a loop of links
    return error.strerror or type(error).__name__


def remedy(error: OSError) -> str:
    """Return advice for the user, the end of a sentence, for an error in writing a file."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "make room on the disk, then try again"
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return "check that the folder is writable"
        case errno.ENOENT:
            return "check that the folder is still there"
        case errno.ENOTDIR | errno.EEXIST:
            return "move away the file that is where its folder should be, or name another folder"
        case errno.EISDIR:
            return "move away the folder that is where this file should be"
        case errno.ENAMETOOLONG:
            return "give it a shorter name"
        case errno.ELOOP:
            return "look for a link in its folder that leads elsewhere, then try again"
        case _:
            return "check the disk and its folder"
