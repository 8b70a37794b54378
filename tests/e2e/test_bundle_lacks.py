"""The frozen bundle on machines that lack something: it ends with exit code 2 and one sentence that says what to do.

    .venv/bin/python -m pytest -m slow tests/e2e/test_bundle_lacks.py

SOMERSAULT_BUNDLE names another folder than the one that packaging/build.py made last.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.bundle import PROGRAM, environment, may_mount, needs_bundle, started, with_mounts

pytestmark = needs_bundle
needs_root = pytest.mark.skipif(not may_mount(), reason="only root can hide a part of the system from a program")
TEACH = [PROGRAM, "teach", "hopper-backflip", "--teacher", "oracle", "--labels", "4", "--steps", "20000"]


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
        ({"WAYLAND_DISPLAY": "wayland-9"}, ["display wayland-9 does not answer"]),
        ({"QT_QPA_PLATFORM": "minimal"}, ["QT_QPA_PLATFORM=minimal"]),
    ],
    ids=["none", "one that is gone", "a platform that is left out"],
)
def test_without_a_display(variables: dict[str, str], words: list[str], tmp_path: Path) -> None:
    assert_one_sentence(started([PROGRAM], environment(tmp_path / "home", None) | variables), *words)


def _without_opengl() -> list[str]:
    known = subprocess.check_output(["/sbin/ldconfig", "-p"], text=True).splitlines()[1:]
    libraries = {Path(line.split("=> ")[1]).resolve() for line in known if re.search(r"lib(GL|EGL)\.so", line)}
    return [f"--bind /dev/null {path}" for path in libraries]


@needs_root
def test_without_opengl_the_window_says_so(display: str, tmp_path: Path) -> None:
    done = started(with_mounts(_without_opengl(), [PROGRAM]), environment(tmp_path / "home", display))
    assert_one_sentence(done, "OpenGL", "apt-get install libgl1 libegl1")


@needs_root
def test_without_opengl_it_teaches_and_only_a_video_is_refused(tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", None)
    teach = [*TEACH, "--session", tmp_path / "s", "--json"]
    done = started(with_mounts(_without_opengl(), teach), environ)
    assert done.returncode == 0 and json.loads(done.stdout)["labels"] > 0
    film = [PROGRAM, "evaluate", tmp_path / "s", "--episodes", "1", "--video", tmp_path / "x.mp4"]
    assert_one_sentence(started(with_mounts(_without_opengl(), film), environ), "OpenGL", "libegl1")
