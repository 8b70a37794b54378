"""What helps to find out why a session went wrong, without telling whose it is."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import site
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from core.errors import UserError
from core.io import files as disk
from core.io import session_log
from core.preferences.store import FOLDER, LOG
from core.session.checkpoint import kept
from core.version import VERSION, library_versions

_LONGEST = 4 << 20
"""Bytes taken of a file's end."""


def collect(folder: Path, target: Path, go_on: Callable[[], None] = lambda: None) -> None:
    """Writes a zip with the session's log and config and the versions of everything. UserError where it can't.

    Answers and networks are not in it; paths, and the names of the person and of the machine, are replaced.
    go_on: called before each file; what it raises ends it, and nothing is left.
    """
    part = target.with_name(target.name + ".part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in (*sorted(folder.glob(f"{session_log.NAME}*")), folder / "config.json"):
                go_on()
                if path.is_file() and not path.is_symlink():  # a session may come from another person
                    disk.add_to_zip(archive, path.name, without_names(_end(path), folder))
            disk.add_to_zip(archive, "about.json", without_names(json.dumps(_about(folder), indent=1), folder))
        os.replace(part, target)
    except OSError as error:
        raise UserError(f"{target} can't be written ({disk.reason(error)}): {disk.remedy(error)}.") from error
    finally:
        disk.clear_away(part)


def _end(path: Path) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - _LONGEST))
        return file.read().decode("utf-8", "replace")


def _about(folder: Path) -> dict[str, object]:
    files = [
        path
        for path in (*kept(folder / "checkpoints"), folder / FOLDER / LOG, *sorted(folder.iterdir()))
        if path.is_file()
    ]
    return {
        "python": sys.version,
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "packages": {"somersault": VERSION, **library_versions()},
        "files": {path.name: path.stat().st_size for path in files},
    }


def without_names(text: str, folder: Path) -> str:
    """The text, with the session's folder, the person's and the machine's name replaced, and of every other path that
    is not within the program's own installation at most the last component left."""
    places = [(folder.absolute(), "<session>"), (folder.resolve(), "<session>"), *_installation()]
    for path, name in sorted(places, key=lambda place: -len(str(place[0]))):
        for form in {str(path), path.as_posix(), str(path).replace("\\", "\\\\")}:
            if len(form) > 1:
                text = re.sub(re.escape(form) + r"(?![\w.-])", name, text, flags=re.IGNORECASE)
    text = _relative(folder).sub("<session>", text)
    for pattern in _PATHS:
        text = pattern.sub(_last_component, text)
    for word, name in _personal():
        text = re.sub(rf"(?<![^\W_]){re.escape(word)}{_after(word)}", name, text, flags=re.IGNORECASE)
    return text


def _relative(folder: Path) -> re.Pattern[str]:
    """The folder as it is named from one of those that it is in. Its own name alone must be followed by a slash."""
    parts = [re.escape(part) for part in Path(os.path.abspath(folder)).parts[1:]]
    tails = [r"[\\/]+".join(parts[start:]) for start in range(len(parts) - 1)]
    forms = [rf"{tail}(?![\w.-])" for tail in tails] + [rf"{part}(?=[\\/])" for part in parts[-1:]]
    return re.compile(rf"(?<![\w.>/\\~-])(?:{'|'.join(forms) or '(?!)'})", re.IGNORECASE)


def _after(word: str) -> str:
    """Two letters are a word of many languages, too: alone they are a name only before the name of a machine."""
    return r"(?![^\W_])" if len(word) > 2 else "(?=@)"


def _installation() -> Iterable[tuple[Path, str]]:
    """Where the program and its libraries are: which line of which file is what a traceback is for."""
    yield Path(__file__).resolve().parents[2], "<program>"
    for place in {*sysconfig.get_paths().values(), site.getusersitepackages(), sys.prefix, sys.base_prefix}:
        if Path(place) != Path.home():
            yield Path(place), "<python>"


_PART = r"[^\s/\\\"'<>|:*?,;()\[\]{}]"
_NAME = rf"{_PART}(?:(?:{_PART}| )*{_PART})?"
"""Within a path: with spaces, as 'My Documents' has one."""
_BEGIN = r"(?:\.\.?|~[\w.-]*|\$\{?[A-Za-z_]\w*\}?|\$env:\w+|%\w+%)(?=[\\/])"
"""Of a path from somewhere that is not told: the present folder, a person's own, a variable's."""
_DRIVE = r"[A-Za-z]:"
_PATHS = (
    re.compile(
        rf"(?<=')(?:/|{_DRIVE}[\\/]|\\\\|{_BEGIN})[^'\n]*(?=')|(?<=\")(?:/|{_DRIVE}[\\/]|\\\\|{_BEGIN})[^\"\n]*(?=\")"
    ),
    re.compile(rf"(?<![\w<>])(?:{_DRIVE}[\\/]+|{_DRIVE}(?={_NAME}\\|{_PART}+/)|\\\\+)(?:{_NAME}[\\/]+)*{_PART}*"),
    re.compile(rf"(?<![\w.>/\\]){_BEGIN}[\\/]+(?:{_NAME}[\\/]+)*{_PART}*"),
    re.compile(rf"(?<![\w.>/])(?<!http:)(?<!https:)/+(?={_PART})(?:{_NAME}/+)*{_PART}*"),
)
"""In quotes, where a path may hold anything; of Windows, its drives and shares; from somewhere that is not told; of all
others, but not what follows 'http:'."""


def _last_component(found: re.Match[str]) -> str:
    """Only of a file: a folder's name is as likely a person's."""
    last = re.split(r"[\\/]", found.group())[-1].strip()
    return f"<path>/{last}" if re.search(r"\w\.\w{1,12}$", last) else "<path>"


def _personal() -> Iterable[tuple[str, str]]:
    try:
        person = getpass.getuser()
    except (OSError, KeyError, ImportError):  # an account without a name
        person = ""
    for word, name in ((person, "<person>"), (Path.home().name, "<person>"), (platform.node(), "<machine>")):
        if word and word != "root":
            yield word, name
