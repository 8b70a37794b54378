"""The portable archive, unpacked elsewhere. Build it first: python3 packaging/build.py

    .venv/bin/python -m pytest -m slow tests/e2e/test_archive.py

SOMERSAULT_DIST names another folder with the archive and its list of files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.version import VERSION
from tests.e2e.bundle import ROOT, folder_on_disk

_DIST = Path(os.environ.get("SOMERSAULT_DIST", ROOT / "packaging/dist"))
_ARCHIVES = sorted(_DIST.glob(f"somersault-{VERSION}-linux-*.tar.xz"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the archive is Linux's"),
    pytest.mark.skipif(not _ARCHIVES, reason="no archive: python3 packaging/build.py"),
]


@pytest.fixture(scope="module")
def unpacked() -> Iterator[Path]:
    """Folder to which the archive was unpacked."""
    with folder_on_disk("somewhere else") as place:
        subprocess.run(["tar", "--extract", "--file", str(_ARCHIVES[-1]), "--directory", str(place)], check=True)
        (folder,) = place.iterdir()
        yield folder


def test_the_archive_contains_exactly_its_list_of_files(unpacked: Path) -> None:
    name = _ARCHIVES[-1].name.removesuffix(".tar.xz")
    assert unpacked.name == name
    listed = (_DIST / f"{name}.files.txt").read_text("utf-8").splitlines()
    found = [path for path in unpacked.rglob("*") if path.is_symlink() or path.is_file()]
    assert sorted(_line(path, unpacked) for path in found) == sorted(listed)


def _line(path: Path, folder: Path) -> str:
    name = path.relative_to(folder).as_posix()
    if path.is_symlink():
        return f"{'link':>12} {name} -> {os.readlink(path)}"
    return f"{path.stat().st_size:>12} {name}"
