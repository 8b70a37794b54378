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
        "torch/include/ATen/ATen.h",
        "torch/bin/protoc-3.13.0.0",
        "torch/_inductor/scheduler.py",
        "torch/lib/libtorch.a",
        "mujoco/studio/app.so",
        "PySide6/Qt/translations/qt_de.qm",
        "PySide6/Qt/plugins/platforms/libqeglfs.so",
        "PySide6/QtCore.pyi",
        "numpy/_core/tests/data.npy",
        "av-18.1.0.dist-info/licenses/__pycache__/AUTHORS.cpython-311.pyc",
    ],
)
def test_left_out(script: Script, name: str) -> None:
    assert not script("contents").is_wanted(name, f"/venv/{name}")


@pytest.mark.parametrize(
    "name",
    [
        "torch/lib/libtorch_cpu.so",
        "torch/bin/torch_shm_manager",
        "torch/distributed/config.py",
        "torch/nn/functional.py",
        "mujoco/libmujoco.so.4.0.0",
        "PySide6/Qt/plugins/platforms/libqxcb.so",
        "PySide6/Qt/plugins/platforms/libqwayland.so",
        "ale_py/roms/pong.bin",
        "gymnasium/envs/mujoco/assets/hopper.xml",
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
        ("libffi.so.8", True),
        ("libGL.so.1", False),
        ("libstdc++.so.6", False),
        ("libX11.so.6", False),
        ("libglib-2.0.so.0", False),
        ("libzstd.so.1", False),
        ("libz3.so.4", False),
    ],
)
def test_of_the_build_machines_libraries_only_pythons_own(script: Script, name: str, wanted: bool) -> None:
    assert script("contents").is_wanted(name, f"/lib/x86_64-linux-gnu/{name}") is wanted


def test_all_that_the_project_asks_for_is_not_excluded(script: Script) -> None:
    imported = {"PySide6", "pyqtgraph", "cv2", "torch", "gymnasium", "mujoco", "ale_py", "numpy", "safetensors", "av"}
    assert imported.isdisjoint(script("contents").EXCLUDED_MODULES)


def test_what_would_compile_on_the_persons_machine_is_excluded(script: Script) -> None:
    assert "triton" in script("contents").EXCLUDED_MODULES


def test_the_libraries_of_glfw_are_not_left_out(script: Script) -> None:
    assert script("contents").is_wanted("glfw/x11/libglfw.so", "/venv/glfw/x11/libglfw.so")
