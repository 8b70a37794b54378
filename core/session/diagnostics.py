"""Diagnostics of a session as a zip file: log, config and versions, without the names of the user, host and folders."""

import contextlib
import getpass
import json
import os
import platform
import re
import stat
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from core.io import files, session_log
from core.preferences.store import FOLDER, LOG
from core.session.checkpoint import CHECKPOINTS, checkpoint_files
from core.session.session import CONFIG
from core.version import VERSION, library_versions

_MAX_BYTES = 4 << 20
"""Largest number of bytes read from the end of a file."""


def collect(folder: Path, target: Path, before_each: Callable[[], None] = lambda: None) -> None:
    """Write the zip file, without answers and networks. Raises UserError if it can't be written.

    before_each: called before each file; an exception from it cancels the work, and no file is left
    """
    with files.replaced(target) as part:
        sizes = dict[str, int]()
        for path in (*checkpoint_files(folder / CHECKPOINTS), folder / FOLDER / LOG, *sorted(folder.iterdir())):
            with contextlib.suppress(FileNotFoundError):  # a running session has replaced it
                status = path.stat()
                if stat.S_ISREG(status.st_mode):
                    sizes[path.name] = status.st_size
        about = {
            "python": sys.version,
            "system": platform.platform(),
            "processors": os.cpu_count(),
            "packages": {"somersault": VERSION, **library_versions()},
            "files": sizes,
        }
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in (*sorted(folder.glob(f"{session_log.NAME}*")), folder / CONFIG):
                before_each()
                if path.is_file() and not path.is_symlink():  # a session may come from another person
                    with open(path, "rb") as file:
                        file.seek(max(0, path.stat().st_size - _MAX_BYTES))
                        text = file.read().decode("utf-8", "replace")
                    files.add_to_zip(archive, path.name, redact(text, folder))
            files.add_to_zip(archive, "about.json", redact(json.dumps(about, indent=1), folder))


def redact(text: str, folder: Path) -> str:
    """Replace the session's folder, the home folder, and the names of the user and the host.

    Other paths stay: the user reads the file before sending it.
    """
    for path, label in ((folder.absolute(), "<session>"), (folder.resolve(), "<session>"), (Path.home(), "<home>")):
        for form in {str(path), path.as_posix(), str(path).replace("\\", "\\\\")}:
            if len(form) > 1:
                text = re.sub(re.escape(form) + r"(?!\w)", label, text, flags=re.IGNORECASE)
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # an account without a name
        user = ""
    for name, label in ((user, "<user>"), (Path.home().name, "<user>"), (platform.node(), "<host>")):
        if len(name) > 2 and name != "root":  # shorter ones are words of the text
            text = re.sub(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", label, text, flags=re.IGNORECASE)
    return text
