"""Gather the licence texts of everything in the bundle, from the owner of each shipped file.

Runs in the build environment. The build fails at a file without an owner, at a package without a licence text, and at a
third-party library inside a wheel that libraries.py does not list.
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
"""Texts, from licences/ here, of packages that ship none."""


class Unlicensed(Exception):
    """A file would be shipped without a known licence."""


def gather(sources: Iterable[str], target: Path, tools: tuple[str, ...] = ("pyinstaller",)) -> list[str]:
    """Copy the texts of all owners of `sources` into folders of `target`; return a line about each owner.

    sources: paths of shipped files; the project's own need no text. tools: distributions that leave parts of
    themselves in their output. Raises Unlicensed.
    """
    paths = {Path(source).resolve() for source in sources}
    paths -= {path for path in paths if _is_ours(path)}  # even where an egg-info of `pip install -e .` lists them
    owners = {path: name for path, name in _owners().items() if path in paths}
    lines = [take_distribution(metadata.distribution(name), target) for name in _sorted({*owners.values(), *tools})]
    lines += take_libraries({path for path in owners if libraries.is_carried(path)}, owners, target)
    unowned = paths - owners.keys()
    lines += _take_python(unowned, target) + take_system(unowned, target)
    (target / "INDEX.txt").write_text("\n".join(lines) + "\n", "utf-8")
    return lines


def _sorted(names: set[str]) -> list[str]:
    return sorted(names, key=str.lower)


def _owners() -> dict[Path, str]:
    """Map each installed file to the name of its distribution."""
    named = {distribution.name: distribution for distribution in metadata.distributions()}  # a name is parsed each time
    return {
        _folder(os.path.dirname(distribution.locate_file(file))) / file.name: name
        for name, distribution in named.items()
        for file in distribution.files or ()
    }


@cache
def _folder(path: str) -> Path:
    """The folder with links resolved. Wheels hold no links, so resolving each folder once is enough."""
    return Path(path).resolve()


def _is_ours(path: Path) -> bool:
    venv = Path(sys.prefix).resolve()
    return path.is_relative_to(PROJECT) and not path.is_relative_to(venv)


def take_distribution(distribution: metadata.Distribution, target: Path) -> str:
    folder = target / f"{distribution.name}-{distribution.version}"
    texts = [file for file in distribution.files or () if _TEXT.search(file.name)]
    noted = [file for file in texts if ".dist-info" in str(file)]
    for file in noted or [file for file in texts if len(file.parts) == 2 and file.suffix in ("", ".txt", ".md")]:
        inner = str(file).partition(".dist-info/")[2].removeprefix("licenses/")
        _copy(Path(str(distribution.locate_file(file))), folder / (inner or file.name))
    for name in _TEXTS_OF.get(distribution.name, ()):
        _copy(HERE / "licences" / name, folder / name)
    if not folder.exists():
        raise Unlicensed(f"{distribution.name} ships no licence text: add one to packaging/licences.")
    return f"{distribution.name} {distribution.version}: {_named(distribution)}"


def take_libraries(carried: set[Path], owners: dict[Path, str], target: Path) -> list[str]:
    """Copy the texts of third-party libraries in wheels; return a line about each with its wheels."""
    found: dict[libraries.Library, set[str]] = {}
    for path in sorted(carried):
        library = libraries.BY_STEM.get(libraries.stem(path))
        if library is None:
            raise Unlicensed(f"{path} came with {owners[path]}: add it to packaging/libraries.py.")
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
    fields = distribution.metadata.json
    classified = [line.rpartition(" :: ")[2] for line in fields.get("classifier", []) if line.startswith("License")]
    named = fields.get("license_expression") or fields.get("license") or ", ".join(classified) or "see its text"
    return str(named).strip().splitlines()[0]


def _take_python(rest: set[Path], target: Path) -> list[str]:
    """Copy the text of Python itself, and drop the standard library's files from `rest`."""
    roots = {Path(path).resolve() for path in (sys.base_prefix, sys.base_exec_prefix)}
    rest -= {path for path in rest if any(path.is_relative_to(root) for root in roots if root != Path("/usr"))}
    version = sys.version.split()[0]
    standard = Path(subprocess.__file__).parent
    rest -= {path for path in rest if path.is_relative_to(standard)}
    text = next(
        (path for path in (standard / "LICENSE.txt", Path(sys.base_prefix) / "LICENSE.txt") if path.exists()), None
    )
    if text is None:
        raise Unlicensed("Python's LICENSE.txt is missing next to its standard library.")
    _copy(text, target / f"Python-{version}" / "LICENSE.txt")
    return [f"Python {version}: PSF-2.0"]


def take_system(rest: set[Path], target: Path) -> list[str]:
    """Copy the texts of libraries of the build machine, which Debian and Ubuntu keep for each package."""
    lines = []
    for package in sorted({_package(path) for path in rest}):
        name = package.partition(":")[0]
        _copy(Path("/usr/share/doc") / name / "copyright", target / f"Debian-{name}" / "copyright")
        lines.append(f"{name}, a library of the build system: see its text")
    return lines


def _package(path: Path) -> str:
    """Name of the Debian package that holds a file, which may be registered under /lib, a link to /usr/lib."""
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
