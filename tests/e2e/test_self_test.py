"""The self-test of an installed program: a session taught by keys, with pictures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.bundle import answers, screen, started
from tests.screens import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(sys.platform != "linux", reason="draws on a virtual screen of Linux"),
]
PICTURES = ["1-pair.png", "2-answered.png", "3-full-screen.png", "4-taught.png"]


def run(folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the self-test as a user with their own settings."""
    with screen() as display:
        home = {"HOME": str(folder.parent), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        variables = home | {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"} | environ
        return started([sys.executable, "-m", "somersault", "--self-test", folder], variables, timeout=2800)


def test_the_self_test_teaches_by_keys_and_saves_pictures(tmp_path: Path) -> None:
    done = run(tmp_path / "t")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.startswith("Self-test passed: ") and str(tmp_path / "t") in done.stdout
    assert sorted(path.name for path in (tmp_path / "t").glob("*.png")) == PICTURES
    assert answers(tmp_path / "t" / "session") >= 15


def test_a_failing_self_test_names_the_fault_and_exits_with_an_error(tmp_path: Path) -> None:
    """No clips can be made without a renderer."""
    done = run(tmp_path / "t", MUJOCO_GL="disable")
    expected = "Self-test failed: The clip renderer stopped: Clips can't be rendered because OpenGL is missing"
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith(expected)
    assert (tmp_path / "t" / "failure.png").exists()
