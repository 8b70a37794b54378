"""What helps to find out why a session went wrong, without telling whose it is."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

from core import disk, journal
from core.checkpoint import kept
from core.errors import UserError
from core.version import VERSION, library_versions

_LONGEST = 4 << 20
"""Bytes taken of a file's end."""


def collect(folder: Path, target: Path) -> None:
    """Writes a zip with the session's log and config and the versions of everything. UserError where it can't.

    Answers and networks are not in it; names of folders, of the person and of the machine are replaced.
    """
    part = target.with_name(target.name + ".part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in (*sorted(folder.glob(f"{journal.NAME}*")), folder / "config.json"):
                if path.is_file():
                    _add(archive, path.name, without_names(_end(path), folder))
            _add(archive, "about.json", without_names(json.dumps(_about(folder), indent=1), folder))
        os.replace(part, target)
    except OSError as error:
        raise UserError(f"{target} can't be written ({disk.reason(error)}): {disk.remedy(error)}.") from error
    finally:
        part.unlink(missing_ok=True)


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    """Without a time: zip knows no year before 1980, but clocks do."""
    member = zipfile.ZipInfo(name)
    member.external_attr = 0o600 << 16
    archive.writestr(member, text, zipfile.ZIP_DEFLATED)


def _end(path: Path) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - _LONGEST))
        return file.read().decode("utf-8", "replace")


def _about(folder: Path) -> dict[str, object]:
    files = [path for path in (*kept(folder / "checkpoints"), *sorted(folder.iterdir())) if path.is_file()]
    return {
        "python": sys.version,
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "packages": {"somersault": VERSION, **library_versions()},
        "files": {path.name: path.stat().st_size for path in files},
    }


def without_names(text: str, folder: Path) -> str:
    """The text, with the session's folder, the home, the person's and the machine's name replaced."""
    for path, name in ((folder.absolute(), "<session>"), (folder.resolve(), "<session>"), (Path.home(), "~")):
        for form in {str(path), path.as_posix(), str(path).replace("\\", "\\\\")}:
            if len(form) > 1:
                text = re.sub(re.escape(form) + r"(?![\w-])", name, text, flags=re.IGNORECASE)
    for word, name in _personal():
        text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", name, text, flags=re.IGNORECASE)
    return text


def _personal() -> Iterable[tuple[str, str]]:
    try:
        person = getpass.getuser()
    except (OSError, KeyError, ImportError):  # an account without a name
        person = ""
    for word, name in ((person, "<person>"), (Path.home().name, "<person>"), (platform.node(), "<machine>")):
        if len(word) > 2 and word != "root":
            yield word, name
