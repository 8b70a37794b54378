"""Files that are taken into the bundle, and files that are left out."""

from __future__ import annotations

import pytest

from tests.packaging.conftest import Script

LEFT_OUT = """torch/test/test_api torch/bin/protoc-3.13.0.0 torch/_inductor/scheduler.py mujoco/studio/app.so
    PySide6/Qt/translations/qt_de.qm PySide6/Qt/plugins/platforms/libqeglfs.so PySide6/QtCore.pyi"""
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
def test_what_is_shipped(script: Script, folder: str, names: str, wanted: bool) -> None:
    is_wanted = script("contents").is_wanted
    assert [name for name in names.split() if is_wanted(name, f"{folder}/{name}") is not wanted] == []
