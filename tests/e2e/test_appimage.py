"""The AppImage of the bundle made by packaging/build.py, on a desktop that lacks some of Qt's libraries.

    .venv/bin/python -m pytest -m slow tests/e2e/test_appimage.py

Requires root, mksquashfs and squashfuse. SOMERSAULT_APPIMAGE_RUNTIME names the AppImage project's runtime; without it a
stand-in of a few lines mounts the image and starts AppRun, like that runtime.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.bundle import (
    BUNDLE,
    HAS_CUDA,
    ROOT,
    answers,
    environment,
    folder_on_disk,
    may_mount,
    needs_bundle,
    started,
    taught,
    with_mounts,
)

pytestmark = [
    *needs_bundle,
    pytest.mark.skipif(HAS_CUDA, reason="CUDA's bundle is not made for distribution"),
    pytest.mark.skipif(
        not (may_mount() and Path("/usr/bin/mksquashfs").exists() and Path("/usr/bin/squashfuse").exists()),
        reason="only root with mksquashfs and squashfuse can make and mount an image",
    ),
]
_ENOUGH = 5
_MOST_GLIBC = 35
"""Ubuntu 22.04 has glibc 2.35."""
_STAND_IN = """#!/bin/sh
place=$(mktemp -d)
squashfuse -o offset=@SIZE@ "$(readlink -f "$0")" "$place" || exit 1
trap 'kill $program' TERM
"$place/AppRun" "$@" & program=$!
wait $program; code=$?
wait $program 2>/dev/null && code=$?
umount --lazy "$place"; rmdir "$place"
exit $code
"""


def _runtime(folder: Path) -> Path:
    if named := os.environ.get("SOMERSAULT_APPIMAGE_RUNTIME"):
        return Path(named)
    text = _STAND_IN.replace("@SIZE@", "512")
    path = folder / "runtime"
    path.write_bytes(text.encode().ljust(512, b"\n"))
    return path


@pytest.fixture(scope="module")
def image() -> Iterator[Path]:
    """An AppImage next to the tree from which it was made; both are deleted afterwards."""
    with folder_on_disk("appimage") as folder:
        yield make_image(folder)


def make_image(folder: Path) -> Path:
    target = folder / "Somersault.AppImage"
    parts = [str(part) for part in (BUNDLE, _runtime(folder), folder / "tree", target)]
    script = "import sys; sys.path.insert(0, 'packaging'); import pathlib, appimage; *p, e = sys.argv[1:]; "
    script += "appimage.build(*map(pathlib.Path, p), int(e))"
    epoch = int(BUNDLE.stat().st_mtime)  # the tree has hard links to the bundle's files, and sets their time to this
    subprocess.run([sys.executable, "-c", script, *parts, str(epoch)], cwd=ROOT, check=True)
    return target


def _lacking() -> list[str]:
    """Return mounts that hide the libraries that the image has to contain."""
    sys.path.insert(0, str(ROOT / "packaging"))
    try:
        import appimage
    finally:
        sys.path.pop(0)
    return [f"--bind /dev/null {appimage.find_library(name)}" for name in appimage.CARRIED]


def test_the_appimage_teaches_on_a_desktop_that_lacks_libraries(image: Path, display: str, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", display)
    command = [image, "--task", "hopper-backflip", "--teacher", "oracle", "--session", tmp_path / "s"]
    done = taught(with_mounts(_lacking(), command), environ, tmp_path / "s", _ENOUGH)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert answers(tmp_path / "s") >= _ENOUGH


def test_the_appimage_has_all_commands_and_runs_with_the_c_library_of_ubuntu_22(image: Path, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", None)
    assert started([image, "--version"], environ).stdout.startswith("somersault ")
    assert "hopper-backflip" in started([image, "tasks"], environ).stdout
    launcher = (image.parent / "tree/usr/lib/somersault/somersault").read_text("utf-8")
    (needed,) = [line for line in launcher.splitlines() if line.startswith("built_with=2.")]
    assert int(needed.rpartition(".")[2]) <= _MOST_GLIBC
    index = (image.parent / "tree/usr/lib/somersault/licences/INDEX.txt").read_text("utf-8")
    assert "libxcb-cursor0, a library of the build system" in index
