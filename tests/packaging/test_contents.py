"""What is taken into the bundle and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

Script = Callable[[str], ModuleType]


@pytest.mark.parametrize(
    "name",
    [
        "torch/test/test_api",
        "torch/bin/protoc-3.13.0.0",
        "torch/_inductor/scheduler.py",
        "mujoco/studio/app.so",
        "PySide6/Qt/translations/qt_de.qm",
        "PySide6/Qt/plugins/platforms/libqeglfs.so",
        "PySide6/QtCore.pyi",
        "av-18.1.0.dist-info/licenses/__pycache__/AUTHORS.cpython-311.pyc",
    ],
)
def test_left_out(script: Script, name: str) -> None:
    assert not script("contents").is_wanted(name, f"/venv/{name}")


@pytest.mark.parametrize(
    "name",
    [
        "torch/lib/libtorch_cpu.so",
        "torch/distributed/config.py",
        "torch/nn/functional.py",
        "mujoco/libmujoco.so.4.0.0",
        "PySide6/Qt/plugins/platforms/libqxcb.so",
        "PySide6/Qt/plugins/platforms/libqwayland.so",
        "ale_py/roms/pong.bin",
        "glfw/x11/libglfw.so",
        "resources/style.qss",
    ],
)
def test_taken(script: Script, name: str) -> None:
    assert script("contents").is_wanted(name, f"/venv/{name}")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("libssl.so.3", True),
        ("libsqlite3.so.0", True),
        ("libGL.so.1", False),
        ("libstdc++.so.6", False),
        ("libX11.so.6", False),
        ("libglib-2.0.so.0", False),
    ],
)
def test_of_the_build_machines_libraries_only_pythons_own(script: Script, name: str, wanted: bool) -> None:
    assert script("contents").is_wanted(name, f"/lib/x86_64-linux-gnu/{name}") is wanted


def test_all_that_the_project_asks_for_is_not_excluded(script: Script) -> None:
    imported = {"PySide6", "pyqtgraph", "cv2", "torch", "gymnasium", "mujoco", "ale_py", "numpy", "safetensors", "av"}
    excluded = script("contents").EXCLUDED_MODULES
    assert imported.isdisjoint(excluded)
    assert "triton" in excluded  # with it torch would compile on the user's machine
