"""Check that a session's folder holds only files of its own, before any of them is read or written.

A session may come from another person. A pipe in place of a file would block the program forever, and through a link the
program would read or write a file elsewhere. `files.open_regular` does not cover folders that are links, nor files that
are exported or copied in other ways.
"""

import os
import stat
from pathlib import Path

from core.errors import UserError
from core.io.files import reason
from core.preferences import store
from core.session import policy_snapshots
from core.session.checkpoint import CHECKPOINTS

_FOLDERS = (CHECKPOINTS, policy_snapshots.FOLDER, store.FOLDER)
"""Folders in a session's folder that the program reads and writes. It ignores others."""
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


def require_plain(folder: Path) -> None:
    """Raise UserError if a link, a pipe, a socket or a device is in a session's folder.

    Opens no file. A missing folder passes, as its reader reports it. Also raises UserError if a folder can't be listed.
    """
    try:
        _check(folder)
        for name in _FOLDERS:
            if (folder / name).is_dir():  # not a link, or it would have been found
                _check(folder / name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise UserError(
            f"{error.filename or folder} can't be read ({reason(error)}): check its permissions."
        ) from error


def _check(folder: Path) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            kind = next((kind for is_kind, kind in _KINDS if is_kind(mode)), None)
            if kind:
                linked = kind == "a link"
                remedy = "copy the folder with what its links point to, and use the copy" if linked else "delete it"
                raise UserError(f"{entry.path} is {kind}, which a session can't contain: {remedy}.")
