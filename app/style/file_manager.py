"""The desktop's file manager."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from core.version import FROZEN

_LIBRARIES = "LD_LIBRARY_PATH"
"""The packaged program sets this variable to its own folder, and keeps the person's under `LD_LIBRARY_PATH_ORIG`."""


def show_folder(folder: Path) -> bool:
    """Open a folder in the desktop's file manager. Returns False if there is none."""
    with _desktop_environment():
        return QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


@contextmanager
def _desktop_environment() -> Iterator[None]:
    """Hide the packaged program's libraries from programs that are started meanwhile."""
    ours, theirs = os.environ.get(_LIBRARIES), os.environ.get(f"{_LIBRARIES}_ORIG")
    if not FROZEN or ours is None:
        yield
        return
    del os.environ[_LIBRARIES]
    if theirs is not None:
        os.environ[_LIBRARIES] = theirs
    try:
        yield
    finally:
        os.environ[_LIBRARIES] = ours
