"""The frozen bundle as people start it, also on machines that lack something. Build it first:

    python3 packaging/build.py --folder-only

    .venv/bin/python -m pytest -m slow tests/e2e/test_bundle.py

SOMERSAULT_BUNDLE names another folder, such as /usr/lib/somersault.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.session.session import Session
from tests.e2e.bundle import (
    BUNDLE,
    HAS_CUDA,
    PROGRAM,
    answers,
    environment,
    folder_on_disk,
    may_mount,
    needs_bundle,
    started,
    taught,
    with_mounts,
)

pytestmark = needs_bundle
MOST_BYTES = 900_000_000
NOBODY = 65534
ENOUGH = 5
"""Answers that show a bundle to teach."""
TEACH = ["--task", "hopper-backflip", "--teacher", "oracle"]


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can access; pytest makes tmp_path private."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def assert_taught(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """Require success without output, a session that opens, with answers and a checkpoint, and an empty log."""
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    log = (folder / "log.txt").read_text("utf-8")
    assert not re.search(r" (WARNING|ERROR|CRITICAL) ", log), log
    session = Session.open(folder)
    session.store().close()
    session.close()
    assert answers(folder) >= ENOUGH
    assert list((folder / "checkpoints").iterdir())


@pytest.mark.skipif(HAS_CUDA, reason="CUDA's libraries alone are three times as much")
def test_the_bundle_is_no_larger_than_promised() -> None:
    files = [path for path in BUNDLE.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_user_without_write_access_can_teach_and_changes_nothing_in_the_bundle(display: str, public: Path) -> None:
    home = public / "home"
    environ = environment(home, display)
    os.chown(home, NOBODY, NOBODY)
    before = _everything(BUNDLE)
    probe = started(["sh", "-c", f"touch '{BUNDLE}/x' || touch '{BUNDLE}/lib/x'"], environ, user=NOBODY)
    assert probe.returncode != 0, "this user may write there"
    session = home / ".local/share/somersault/sessions/hopper-backflip-1"
    assert_taught(taught([PROGRAM, *TEACH], environ, session, ENOUGH, user=NOBODY), session)
    assert _everything(BUNDLE) == before


def _everything(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.lstat().st_mtime_ns) for path in folder.rglob("*"))


def _link(old: str, new: str) -> None:
    """Copy by a hard link if the file system allows it."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)


def test_the_bundle_teaches_in_a_path_with_spaces_and_other_scripts(display: str) -> None:
    with folder_on_disk("Größere Sprünge – сальто 宙返り") as place:
        shutil.copytree(BUNDLE, place / "my program", symlinks=True, copy_function=_link)
        environ = environment(place / "mein Zuhause", display)
        command = [place / "my program/somersault", *TEACH, "--session", place / "s é"]
        assert_taught(taught(command, environ, place / "s é", ENOUGH), place / "s é")


def test_the_bundle_teaches_without_a_gpu(display: str, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", display) | {"CUDA_VISIBLE_DEVICES": "-1", "LIBGL_ALWAYS_SOFTWARE": "1"}
    hidden = ["-t tmpfs none /dev/dri"] if os.path.isdir("/dev/dri") and may_mount() else []
    command = [PROGRAM, *TEACH, "--session", tmp_path / "s"]
    done = taught(with_mounts(hidden, command) if hidden else command, environ, tmp_path / "s", ENOUGH)
    assert_taught(done, tmp_path / "s")


KINDS = {
    "hopper-backflip": "30000",
    "ant": "20000",  # its physics is stepped differently
    "gym:CartPole-v1": "12000",  # clips of pictures captured during training
    "gym:Hopper-v5": "6000",  # pictures from Gymnasium's own renderer
    "pong": "1000",
}


@pytest.mark.parametrize("task", KINDS)
def test_each_kind_of_task_is_taught_and_filmed(task: str, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", None)
    command = [PROGRAM, "teach", task, "--teacher", "oracle", "--labels", "10", "--steps", KINDS[task], "--json"]
    done = started([*command, "--session", tmp_path / "s", "--video", tmp_path / "x.mp4"], environ, timeout=1200)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["env_steps"] >= int(KINDS[task])
    assert (tmp_path / "x.mp4").read_bytes()[4:8] == b"ftyp"


def test_the_bundle_exports_verified_onnx_files(tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", None)
    done = started([*HEADLESS, "--session", tmp_path / "s", "--json"], environ)
    assert done.returncode == 0, done.stderr
    done = started([PROGRAM, "export", tmp_path / "s", "--onnx", tmp_path / "o/flip.onnx"], environ)
    assert done.returncode == 0 and "onnxruntime" not in done.stderr, done.stderr  # no warnings of onnxruntime
    assert "differs by at most" in done.stdout + done.stderr
    contract = json.loads((tmp_path / "o/contract.json").read_text("utf-8"))
    assert contract["versions"]["onnxruntime"] and contract["parity"]["largest_differences"]["policy"] <= 1e-5


_NEWEST_OF_UBUNTU_22 = {b"GLIBC_2": 35, b"GLIBCXX_3.4": 30, b"CXXABI_1.3": 13}
"""The versions that its C library, glibc 2.35, and its C++ library, of GCC 12, go up to."""


def test_the_bundle_runs_with_the_c_and_cpp_libraries_of_ubuntu_22() -> None:
    asked = dict.fromkeys(_NEWEST_OF_UBUNTU_22, 0)
    for path in (BUNDLE / "lib").rglob("*.so*"):
        content = b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
        for version, number in re.findall(rb"(GLIBC_2|GLIBCXX_3\.4|CXXABI_1\.3)\.(\d+)\0", content):
            asked[version] = max(asked[version], int(number))
    assert all(asked.values())
    assert {version: number for version, number in asked.items() if number > _NEWEST_OF_UBUNTU_22[version]} == {}


def test_every_shipped_library_has_its_licence() -> None:
    index = (BUNDLE / "licences/INDEX.txt").read_text("utf-8")
    shipped = {path.name.partition("-")[0].lower() for path in (BUNDLE / "lib/_internal").glob("*.dist-info")}
    named = {line.split()[0].lower().replace("-", "_") for line in index.splitlines()}
    assert shipped and shipped <= named
    assert {"python", "pyinstaller"} <= named
    texts = [folder for folder in (BUNDLE / "licences").iterdir() if folder.is_dir()]
    assert all(any(path.is_file() for path in folder.rglob("*")) for folder in texts)


needs_root = pytest.mark.skipif(not may_mount(), reason="only root can hide a part of the system from a program")
HEADLESS = [PROGRAM, "teach", "hopper-backflip", "--teacher", "oracle", "--labels", "4", "--steps", "20000"]


def assert_one_sentence(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, ["no display", "somersault teach"]),
        ({"WAYLAND_DISPLAY": "wayland-9"}, ["display wayland-9 is unreachable"]),
        ({"QT_QPA_PLATFORM": "minimal"}, ["QT_QPA_PLATFORM=minimal"]),
    ],
    ids=["none", "one that is gone", "a platform that is left out"],
)
def test_a_missing_display_is_one_sentence(variables: dict[str, str], words: list[str], tmp_path: Path) -> None:
    assert_one_sentence(started([PROGRAM], environment(tmp_path / "home", None) | variables), *words)


def _without_opengl() -> list[str]:
    known = subprocess.check_output(["/sbin/ldconfig", "-p"], text=True).splitlines()[1:]
    libraries = {Path(line.split("=> ")[1]).resolve() for line in known if re.search(r"lib(GL|EGL)\.so", line)}
    return [f"--bind /dev/null {path}" for path in libraries]


@needs_root
def test_without_opengl_the_window_is_refused_in_one_sentence(display: str, tmp_path: Path) -> None:
    done = started(with_mounts(_without_opengl(), [PROGRAM]), environment(tmp_path / "home", display))
    assert_one_sentence(done, "OpenGL", "apt-get install libgl1 libegl1")


@needs_root
def test_without_opengl_teaching_works_and_only_a_video_is_refused(tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", None)
    teach = [*HEADLESS, "--session", tmp_path / "s", "--json"]
    done = started(with_mounts(_without_opengl(), teach), environ)
    assert done.returncode == 0 and json.loads(done.stdout)["labels"] > 0
    film = [PROGRAM, "evaluate", tmp_path / "s", "--episodes", "1", "--video", tmp_path / "x.mp4"]
    assert_one_sentence(started(with_mounts(_without_opengl(), film), environ), "OpenGL", "libegl1")
