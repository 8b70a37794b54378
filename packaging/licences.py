"""Gathers the licence texts of everything in the bundle, by asking whose each shipped file is.

Runs in the build environment. A file that belongs to nobody, or to a package without any text, fails the build, and so
does a library that a wheel has brought along from elsewhere, as long as libraries.py does not say whose it is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

import libraries

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
_TEXT = re.compile(r"(licen[cs]e|copying|notice|copyright)", re.IGNORECASE)
_TEXTS_OF = {
    "PySide6_Essentials": ("LGPL-3.0.txt", "GPL-3.0.txt"),
    "shiboken6": ("LGPL-3.0.txt", "GPL-3.0.txt"),
    "pygame-ce": ("LGPL-2.1.txt",),
    "PyOpenGL": ("PyOpenGL.txt",),
    "nvidia-cusparselt-cu13": ("nvidia-cusparselt.txt",),  # says where to read it
}
"""What some packages ship no text of; the texts lie in licences/ here."""


class Unlicensed(Exception):
    """Something would be shipped whose licence is not known."""


def gather(sources: Iterable[str], target: Path, tools: tuple[str, ...] = ("pyinstaller",)) -> list[str]:
    """Copies the texts of all owners of `sources` into folders of `target`; returns a line about each owner.

    tools: distributions that leave something of theirs in what they make.
    """
    paths = {Path(source).resolve() for source in sources}
    owners, ours = _owners(), {path for path in paths if _is_ours(path)}
    lines, distributions = [], {owners[path] for path in paths if path in owners}
    for distribution in sorted(distributions.union(tools), key=str.lower):
        lines.append(_take_distribution(metadata.distribution(distribution), target))
    lines += _take_libraries({path for path in paths if path in owners and libraries.is_carried(path)}, owners, target)
    rest = paths - owners.keys() - ours
    lines += _take_python(rest, target) + _take_system(rest, target)
    (target / "INDEX.txt").write_text("\n".join(lines) + "\n", "utf-8")
    return lines


def _owners() -> dict[Path, str]:
    """Each installed file to the name of its distribution."""
    named = {distribution.name: distribution for distribution in metadata.distributions()}  # a name is parsed each time
    return {
        _folder(os.path.dirname(distribution.locate_file(file))) / file.name: name
        for name, distribution in named.items()
        for file in distribution.files or ()
    }


@cache
def _folder(path: str) -> Path:
    """Without links and dots. Wheels hold no links, so their folders are asked for once and not each of their files."""
    return Path(path).resolve()


def _is_ours(path: Path) -> bool:
    venv = Path(sys.prefix).resolve()
    return path.is_relative_to(PROJECT) and not path.is_relative_to(venv)


def _take_distribution(distribution: metadata.Distribution, target: Path) -> str:
    folder = target / f"{distribution.name}-{distribution.version}"
    texts = [file for file in distribution.files or () if ".dist-info" in str(file) and _TEXT.search(file.name)]
    for file in texts:
        inner = str(file).partition(".dist-info/")[2].removeprefix("licenses/")
        _copy(Path(str(distribution.locate_file(file))), folder / inner)
    for name in _TEXTS_OF.get(distribution.name, ()):
        _copy(HERE / "licences" / name, folder / name)
    if not folder.exists():
        raise Unlicensed(f"{distribution.name} ships no licence text: add one to packaging/licences.")
    return f"{distribution.name} {distribution.version}: {_named(distribution)}"


def _take_libraries(carried: set[Path], owners: dict[Path, str], target: Path) -> list[str]:
    """The texts of libraries that wheels bring along, and a line about each with the wheels that it came in."""
    found: dict[libraries.Library, set[str]] = {}
    for path in sorted(carried):
        library = libraries.BY_STEM.get(libraries.stem(path))
        if library is None:
            raise Unlicensed(f"{path} came with {owners[path]}: say in packaging/libraries.py whose it is.")
        found.setdefault(library, set()).add(owners[path])
    for library in found:
        _copy(HERE / "licences/libraries" / f"{library.name}.txt", target / "libraries" / f"{library.name}.txt")
        for name in library.common:
            _copy(HERE / "licences" / name, target / "libraries" / name)
    return [
        f"{library.name}, a library in {', '.join(sorted(wheels))}: {library.licence}"
        for library, wheels in sorted(found.items(), key=lambda item: item[0].name.lower())
    ]


def _named(distribution: metadata.Distribution) -> str:
    told = distribution.metadata.json
    classified = [line.rpartition(" :: ")[2] for line in told.get("classifier", []) if line.startswith("License")]
    named = told.get("license_expression") or told.get("license") or ", ".join(classified) or "see its text"
    return str(named).strip().splitlines()[0]


def _take_python(rest: set[Path], target: Path) -> list[str]:
    """The standard library's own text, and drops its files from `rest`."""
    roots = {Path(path).resolve() for path in (sys.base_prefix, sys.base_exec_prefix)}
    rest -= {path for path in rest if any(path.is_relative_to(root) for root in roots if root != Path("/usr"))}
    version = sys.version.split()[0]
    standard = Path(subprocess.__file__).parent
    rest -= {path for path in rest if path.is_relative_to(standard)}
    text = next(
        (path for path in (standard / "LICENSE.txt", Path(sys.base_prefix) / "LICENSE.txt") if path.exists()), None
    )
    if text is None:
        raise Unlicensed("Python's LICENSE.txt is not beside its standard library.")
    _copy(text, target / f"Python-{version}" / "LICENSE.txt")
    return [f"Python {version}: PSF-2.0"]


def _take_system(rest: set[Path], target: Path) -> list[str]:
    """Libraries of the build machine: Debian and Ubuntu keep the text of each package."""
    lines = []
    for package in sorted({_package(path) for path in rest}):
        name = package.partition(":")[0]
        _copy(Path("/usr/share/doc") / name / "copyright", target / f"Debian-{name}" / "copyright")
        lines.append(f"{name}, a library of the build system: see its text")
    return lines


def _package(path: Path) -> str:
    """The Debian package that a file is of. It may be registered under /lib, which is a link to /usr/lib."""
    for form in (path, Path("/" + str(path).removeprefix("/usr/"))):
        found = subprocess.run(["dpkg", "-S", str(form)], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(": ")[0].split(",")[0]
    raise Unlicensed(f"{path} belongs to no package, so its licence is not known.")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


if __name__ == "__main__":
    listed, into = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        print(f"{len(gather(listed.read_text('utf-8').splitlines(), into))} licences in {into}")
    except Unlicensed as error:
        sys.exit(str(error))
