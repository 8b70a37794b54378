"""The folder of the bundle: its contents, its launcher, and the safe stripping of libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import Script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the launcher and its libraries are Linux's")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bundle of one program, which prints its arguments."""
    (tmp_path / "b/lib").mkdir(parents=True)
    program = tmp_path / "b/lib/somersault"
    program.write_text('#!/bin/sh\necho "$0" "$@"\n')
    program.chmod(0o755)
    return tmp_path / "b"


def add_launcher(script: Script, folder: Path, monkeypatch: pytest.MonkeyPatch, glibc: str = "2.17") -> None:
    bundle = script("bundle")
    monkeypatch.setattr(bundle, "needed_glibc", lambda _: glibc)
    bundle.add_launcher(folder)


def launched(program: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), "a b", "--c"], env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )


def test_the_launcher_starts_the_program_beside_it(
    script: Script, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_launcher(script, folder, monkeypatch)
    (tmp_path / "somersault").symlink_to(folder / "somersault")
    for program in (folder / "somersault", tmp_path / "somersault"):
        assert launched(program).stdout == f"{folder}/lib/somersault a b --c\n"


@pytest.mark.parametrize("tool", ["uname", "getconf"])
def test_the_launcher_refuses_systems_it_was_not_built_for(
    script: Script, folder: Path, tmp_path: Path, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_launcher(script, folder, monkeypatch)
    (tmp_path / tool).write_text("#!/bin/sh\necho glibc 2.9\n")
    (tmp_path / tool).chmod(0o755)
    done = launched(folder / "somersault", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and "2.9" in done.stderr


@pytest.mark.skipif(not shutil.which("readelf"), reason="reads libraries with readelf")
def test_a_library_whose_segments_are_moved_is_no_longer_loadable(script: Script, tmp_path: Path) -> None:
    from numpy.random import mtrand as compiled

    bundle, whole = script("bundle"), Path(compiled.__file__)
    assert bundle.is_loadable(whole)
    broken = bytearray(whole.read_bytes())
    start, size, count = (int.from_bytes(broken[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
    loads = [start + size * n for n in range(count) if broken[start + size * n] == 1]
    broken[loads[-1] + 8] ^= 8  # the file offset of its last loaded segment
    (tmp_path / "broken.so").write_bytes(broken)
    assert not bundle.is_loadable(tmp_path / "broken.so")


def test_the_bundle_needs_a_version_of_glibc(script: Script, tmp_path: Path) -> None:
    from numpy.random import mtrand as compiled

    shutil.copy(compiled.__file__, tmp_path / "x.so")
    assert script("bundle").needed_glibc(tmp_path).startswith("2.")


LEFT_OUT = """torch/test/test_api torch/bin/protoc-3.13.0.0 torch/_inductor/scheduler.py mujoco/studio/app.so
    PySide6/Qt/translations/qt_de.qm PySide6/Qt/plugins/platforms/libqeglfs.so PySide6/QtCore.pyi
    resources/readme/window.png"""
TAKEN = """torch/lib/libtorch_cpu.so torch/distributed/config.py torch/nn/functional.py mujoco/libmujoco.so.4.0.0
    PySide6/Qt/plugins/platforms/libqxcb.so PySide6/Qt/plugins/platforms/libqwayland.so ale_py/roms/pong.bin
    glfw/x11/libglfw.so resources/style.qss"""


@pytest.mark.parametrize(
    ("folder", "names", "wanted"),
    [
        ("/venv", LEFT_OUT, False),
        ("/venv", TAKEN, True),
        ("/lib/x86_64-linux-gnu", "libssl.so.3 libsqlite3.so.0", True),
        ("/lib/x86_64-linux-gnu", "libGL.so.1 libstdc++.so.6 libX11.so.6 libglib-2.0.so.0", False),
    ],
    ids=["left out", "taken", "Python's own libraries", "the system's libraries"],
)
def test_libraries_missing_on_some_systems_are_shipped(script: Script, folder: str, names: str, wanted: bool) -> None:
    is_wanted = script("contents").is_wanted
    assert [name for name in names.split() if is_wanted(name, f"{folder}/{name}") is not wanted] == []
