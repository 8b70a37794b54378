"""Whether a window can be opened: on displays that are dead, closed to strangers, or none, and without libraries."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app import display_check
from core.errors import UserError
from tests.screens import x_server

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": "", "XDG_RUNTIME_DIR": "/nowhere"}
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux may lack a display")
needs_server = pytest.mark.skipif(
    not (shutil.which("Xvfb") and shutil.which("xauth")), reason="starts an X server of its own"
)
_OPENED = """
from PySide6.QtWidgets import QApplication
from app import display

display.require()
print(QApplication([]).platformName())
"""


def run_python(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    environ = {**os.environ, **NOWHERE, **environ}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)


def assert_refused(folder: Path, words: str, **environ: str) -> None:
    """The program itself ends with exit code 2 and one sentence, and has left no folder behind."""
    done = run_python("-m", "app", "--session", folder / "s", **environ)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr, done.stderr
    assert not (folder / "s").exists()


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "no display"),
        ({"SOMERSAULT_FROM_MENU": "1"}, "no display"),
        ({"DISPLAY": ":987"}, "The display :987 does not answer"),
        ({"DISPLAY": "localhost:987"}, "The display localhost:987 does not answer"),
        ({"DISPLAY": "nonsense"}, "The display nonsense does not answer"),
        ({"WAYLAND_DISPLAY": "wayland-9"}, "The display wayland-9 does not answer"),
        ({"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": ""}, "The display wayland-9 does not answer"),
        ({"WAYLAND_DISPLAY": "wayland-9", "DISPLAY": ":987"}, "The display wayland-9 does not answer"),
        ({"QT_QPA_PLATFORM": "xcb"}, "no display"),
        ({"QT_QPA_PLATFORM": "xcb", "DISPLAY": ":987"}, "The display :987 does not answer"),
        ({"QT_QPA_PLATFORM": "wayland"}, "The display wayland-0 does not answer"),
        ({"QT_QPA_PLATFORM": "foo"}, "QT_QPA_PLATFORM=foo: unset it"),
        ({"QT_QPA_PLATFORM": "minimal"}, "QT_QPA_PLATFORM=minimal: unset it"),
        ({"QT_QPA_PLATFORM": "foo;xcb:x", "DISPLAY": ":987"}, "QT_QPA_PLATFORM=foo: unset it"),
    ],
)
def test_where_nobody_answers_one_sentence_says_so(tmp_path: Path, environ: dict[str, str], words: str) -> None:
    assert_refused(tmp_path, words, **environ)


@needs_server
def test_an_x_server_that_lets_nobody_in(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    subprocess.run(["xauth", "-q", "-f", str(keys), "add", ":0", ".", "0" * 32], check=True, capture_output=True)
    with x_server("640x480", "-auth", str(keys)) as shown:
        subprocess.run(["xauth", "-q", "-f", str(keys), "add", shown, ".", "0" * 32], check=True)
        stranger = str(tmp_path / "none")
        assert_refused(
            tmp_path, f"The display {shown} does not answer, or lets nobody in", DISPLAY=shown, XAUTHORITY=stranger
        )
        done = run_python("-c", _OPENED, DISPLAY=shown, XAUTHORITY=str(keys))
        assert done.stdout == "xcb\n", done.stderr


@needs_server
@pytest.mark.parametrize(
    "environ",
    [{}, {"WAYLAND_DISPLAY": "wayland-9"}, {"QT_QPA_PLATFORM": "foo;xcb"}, {"QT_QPA_PLATFORM": "XCB"}],
    ids=lambda environ: " ".join(environ.values()) or "plain",
)
def test_qt_opens_what_was_found_to_answer(environ: dict[str, str]) -> None:
    with x_server("640x480", "-ac") as shown:
        done = run_python("-c", _OPENED, **environ, DISPLAY=shown)
    assert (done.returncode, done.stdout) == (0, "xcb\n"), done.stderr


@needs_server
def test_a_server_that_ends_with_its_last_client_is_held_until_qt_is_there() -> None:
    with x_server("640x480", "-ac", "-terminate") as shown:
        done = run_python("-c", _OPENED, DISPLAY=shown)
    assert (done.returncode, done.stdout) == (0, "xcb\n"), done.stderr


def test_a_wayland_socket_with_somebody_there_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_check, "_WAYLAND", {})
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "wayland-3"))
        server.listen()
        display_check.require({"WAYLAND_DISPLAY": "wayland-3", "XDG_RUNTIME_DIR": str(tmp_path)})
        display_check.require({"WAYLAND_DISPLAY": str(tmp_path / "wayland-3")})


def test_missing_libraries_are_named_as_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_check, "_X11", {"libnothing-of-the-kind.so.0": "libnothing0"})
    with pytest.raises(UserError, match="apt-get install libnothing0"):
        display_check.require({"DISPLAY": ":1"})


@pytest.mark.parametrize(
    "environ", [{"DISPLAY": ":1"}, {"WAYLAND_DISPLAY": "wayland-0"}, {"QT_QPA_PLATFORM": "offscreen"}]
)
def test_without_opengl_it_says_what_to_install(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_check, "_DRAWING", {"libnoGL.so.1": "libgl1", "libnoEGL.so.1": "libegl1"})
    with pytest.raises(UserError, match="OpenGL .* apt-get install libgl1 libegl1$"):
        display_check.require(environ)


def test_offscreen_needs_no_display() -> None:
    display_check.require({"QT_QPA_PLATFORM": "offscreen"})


def test_a_closed_standard_error_is_no_hindrance() -> None:
    done = run_python("-c", "import os; os.close(2)\nfrom app import display\nprint(display._lets_in(':987'))")
    assert (done.returncode, done.stdout) == (0, "False\n")
