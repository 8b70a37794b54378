"""The check of the display: missing, unusable and refusing displays, and missing libraries."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app import display_check, system_libraries
from tests.screens import run_python, x_server

NOWHERE = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": "", "XDG_RUNTIME_DIR": "/nowhere"}
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux may lack a display")
needs_server = pytest.mark.skipif(
    not (shutil.which("Xvfb") and shutil.which("xauth")), reason="starts an X server of its own"
)
_OPENED = """
from app.display_check import open_display
print(open_display().platformName())
"""


def assert_refused(folder: Path, words: str, **environ: str) -> None:
    """Require that the program ends with exit code 2 and one sentence, and leaves no folder behind."""
    done = run_python("-m", "app", "--session", folder / "s", **{**NOWHERE, **environ})
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr, done.stderr
    assert not (folder / "s").exists()


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "no display"),
        ({"DISPLAY": ":987"}, "The display :987 is unreachable"),
        ({"WAYLAND_DISPLAY": "wayland-9", "DISPLAY": ":987"}, "The display wayland-9 is unreachable"),
        ({"QT_QPA_PLATFORM": "foo"}, "QT_QPA_PLATFORM=foo: unset it"),
    ],
)
def test_an_unusable_display_is_one_sentence_without_an_abort(
    tmp_path: Path, environ: dict[str, str], words: str
) -> None:
    assert_refused(tmp_path, words, **environ)


@needs_server
def test_an_x_server_that_refuses_this_user_is_one_sentence(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    subprocess.run(["xauth", "-q", "-f", str(keys), "add", ":0", ".", "0" * 32], check=True, capture_output=True)
    with x_server("640x480", "-auth", str(keys)) as shown:
        subprocess.run(["xauth", "-q", "-f", str(keys), "add", shown, ".", "0" * 32], check=True)
        assert_refused(
            tmp_path, f"The display {shown} is unreachable", DISPLAY=shown, XAUTHORITY=str(tmp_path / "none")
        )
        done = run_python("-c", _OPENED, **{**NOWHERE, "DISPLAY": shown, "XAUTHORITY": str(keys)})
        assert (done.returncode, done.stdout) == (0, "xcb\n"), done.stderr


@pytest.mark.slow_after_first
@needs_server
@pytest.mark.parametrize("environ", [{"WAYLAND_DISPLAY": "wayland-9"}, {"QT_QPA_PLATFORM": "foo;xcb"}], ids=str)
def test_a_second_platform_is_tried(environ: dict[str, str]) -> None:
    with x_server("640x480", "-ac", "-terminate") as shown:
        done = run_python("-c", _OPENED, **{**NOWHERE, **environ, "DISPLAY": shown})
    assert (done.returncode, done.stdout) == (0, "xcb\n"), done.stderr


@pytest.mark.parametrize(
    ("table", "environ"),
    [
        ("RENDERING", {"QT_QPA_PLATFORM": "offscreen"}),
        ("X11", {"DISPLAY": ":1"}),
        ("WAYLAND", {"WAYLAND_DISPLAY": "wayland-3"}),
    ],
)
def test_missing_libraries_are_named_as_packages(
    tmp_path: Path, table: str, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wayland-3").touch()
    for name, value in {**NOWHERE, "XDG_RUNTIME_DIR": str(tmp_path), **environ}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(system_libraries, table, {"libnone.so.0": "libnone0", "libc.so.6": "libc6"})
    for tool, end in (
        ("/usr/bin/apt-get", "apt-get install libnone0"),
        (None, "equivalent of the Debian packages libnone0"),
    ):
        monkeypatch.setattr(shutil, "which", lambda name, tool=tool: tool)
        assert display_check.explain_failure("").endswith(end)
