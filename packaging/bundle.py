"""The bundle's folder: PyInstaller's output, stripped, with launcher, licences and list of files."""

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
    """Move the frozen folder to the bundle and add the licences; on Linux also strip it and add a launcher."""
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
        add_launcher(bundle)


def strip(bundle: Path) -> None:
    """Remove debug symbols from libraries.

    Libraries that were patched when their wheel was built may break; those stay unchanged.
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
    """True if the segments of the ELF file are aligned as the system's loader requires."""
    loads = [
        [int(number, 16) for number in found]
        for found in _LOADS.findall(_output("readelf", "--segments", "--wide", path))
    ]
    return all((offset - address) % alignment == 0 for offset, address, alignment in loads)


def elf_files(bundle: Path) -> Iterator[Path]:
    """Programs and libraries in the bundle, sorted, without links."""
    for path in sorted(bundle.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == _ELF:
                    yield path


def needed_glibc(bundle: Path) -> str:
    """Oldest version of glibc that has all symbols that the bundle needs."""
    newest = max(int(minor) for path in elf_files(bundle) for minor in _GLIBC.findall(path.read_bytes()))
    return f"2.{newest}"


def listing(folder: Path) -> str:
    """One line per file, sorted: size in bytes or 'link', path, and target of a link."""
    lines = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            lines.append(f"{'link':>12} {name} -> {os.readlink(path)}")
        elif path.is_file():
            lines.append(f"{path.stat().st_size:>12} {name}")
    return "\n".join(lines) + "\n"


def size(folder: Path) -> int:
    """Total bytes of the files in a folder, without links."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def add_launcher(bundle: Path) -> None:
    text = (HERE / "linux" / "somersault.sh").read_text("utf-8")
    launcher = bundle / "somersault"
    launcher.write_text(text.replace("@MACHINE@", platform.machine()).replace("@GLIBC@", needed_glibc(bundle)), "utf-8")
    launcher.chmod(0o755)


def _output(*command: str | Path) -> str:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout
