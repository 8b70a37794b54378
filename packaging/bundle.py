"""The bundle's folder: what PyInstaller made, made smaller, with a launcher, the licences and a list of its files."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
_ELF = b"\x7fELF"
_SYMBOLS = re.compile(r"\s\.symtab\s+SYMTAB\s")
_LOADS = re.compile(r"^\s+LOAD\s+(0x\w+)\s+(0x\w+)\s.*\s(0x\w+)$", re.MULTILINE)
_GLIBC = re.compile(rb"GLIBC_2\.(\d+)\x00")


def assemble(frozen: Path, licences: Path, bundle: Path) -> None:
    """Moves the frozen folder to where it is shipped from. On Linux a launcher goes before it."""
    shutil.rmtree(bundle, ignore_errors=True)
    linux = sys.platform == "linux"
    bundle.parent.mkdir(parents=True, exist_ok=True)
    if linux:
        bundle.mkdir()
    shutil.move(frozen, bundle / "lib" if linux else bundle)
    shutil.copytree(licences, bundle / "licences")
    shutil.copyfile(HERE.parent / "LICENSE", bundle / "licences" / "LICENSE.txt")
    if linux:
        strip(bundle)
        _add_launcher(bundle)


def strip(bundle: Path) -> None:
    """Takes the symbols, which only a debugger reads, out of the libraries that still have them.

    Libraries that a wheel's maker has edited may come out of it broken; those stay as they are.
    """
    for path in list(elf_files(bundle)):
        if not _SYMBOLS.search(_output("readelf", "--section-headers", "--wide", path)):
            continue
        stripped = path.with_name(path.name + ".stripped")
        subprocess.run(["strip", "--strip-unneeded", "-o", str(stripped), str(path)], check=True)
        if is_loadable(stripped) and stripped.stat().st_size < path.stat().st_size:
            stripped.chmod(path.stat().st_mode)
            stripped.replace(path)
        else:
            stripped.unlink()


def is_loadable(path: Path) -> bool:
    """Whether its segments lie in the file as the system's loader wants them."""
    loads = [[int(number, 16) for number in found] for found in _LOADS.findall(_segments(path))]
    return all((offset - address) % alignment == 0 for offset, address, alignment in loads)


def _segments(path: Path) -> str:
    return _output("readelf", "--segments", "--wide", path)


def elf_files(bundle: Path) -> Iterator[Path]:
    """Programs and libraries in the bundle, sorted; no links."""
    for path in sorted(bundle.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == _ELF:
                    yield path


def needed_glibc(bundle: Path) -> str:
    """The oldest C library that has all that the bundle's files ask for."""
    newest = max(int(minor) for path in elf_files(bundle) for minor in _GLIBC.findall(path.read_bytes()))
    return f"2.{newest}"


def needed_libraries(bundle: Path) -> set[str]:
    """Names of the shared libraries that the bundle's files ask for and the bundle does not have."""
    asked: set[str] = set()
    for path in elf_files(bundle):
        asked |= set(re.findall(r"\(NEEDED\).*\[(.+?)\]", _output("readelf", "--dynamic", "--wide", path)))
    return asked - {path.name for path in bundle.rglob("*.so*")}


def listing(folder: Path) -> str:
    """One line for each file, sorted: its size in bytes, or where it links to, and its name."""
    lines = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            lines.append(f"{'link':>12} {name} -> {os.readlink(path)}")
        elif path.is_file():
            lines.append(f"{path.stat().st_size:>12} {name}")
    return "\n".join(lines) + "\n"


def size(folder: Path) -> int:
    """Bytes in the files of a folder; a link counts nothing."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _add_launcher(bundle: Path) -> None:
    text = (HERE / "linux" / "somersault.sh").read_text("utf-8")
    launcher = bundle / "somersault"
    launcher.write_text(text.replace("@MACHINE@", platform.machine()).replace("@GLIBC@", needed_glibc(bundle)), "utf-8")
    launcher.chmod(0o755)


def _output(*command: str | Path) -> str:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout
