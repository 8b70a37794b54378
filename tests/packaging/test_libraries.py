"""Owners and licences of the libraries inside wheels."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from tests.packaging.conftest import Script

TEXTS = Path(__file__).resolve().parents[2] / "packaging/licences"


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("libx264-d6533a8d.so.165", "x264"),
        ("libSDL2-2-50d19f93.0.so.0.3200.10", "SDL2"),
        ("libSDL2_image-2-d6906c81.0.so.0.800.12", "SDL2_image"),
        ("libscipy_openblas64_-32a4b2a6.so", "scipy_openblas64_"),
        ("libopenblasp-r0-59ffcd50.3.15.so", "openblasp-r0"),
        ("libgfortran-040039e1-0352e75f.so.5.0.0", "gfortran"),
        ("avcodec-62-0123456789abcdef.dll", "avcodec"),
    ],
)
def test_the_name_of_a_library_omits_its_version_and_hash(script: Script, name: str, stem: str) -> None:
    assert script("libraries").stem(Path(name)) == stem


def test_each_library_has_all_its_licence_texts(script: Script) -> None:
    named = set(script("libraries").BY_STEM.values())
    for library in named:
        assert (TEXTS / "libraries" / f"{library.name}.txt").stat().st_size > 400, library.name
        assert all((TEXTS / text).stat().st_size > 7000 for text in library.common), library.name
    assert {path.stem for path in (TEXTS / "libraries").iterdir()} == {library.name for library in named}


def installed_libraries(*names: str) -> list[str]:
    files = (file for name in names for file in metadata.distribution(name).files or ())
    return [str(file.locate()) for file in files if ".so" in file.name]


@pytest.mark.slow
def test_each_library_of_the_projects_dependencies_is_known(script: Script, tmp_path: Path) -> None:
    wheels = ("av", "ale-py", "numpy", "opencv-python-headless", "pygame-ce", "PySide6_Essentials", "torch")
    lines = script("licences").gather(installed_libraries(*wheels), tmp_path, tools=())
    assert "CUDA, a library in ale-py: NVIDIA's end user licence agreement (proprietary)" in lines
    assert "x264, a library in av: GPL-2.0-or-later" in lines
    assert "ICU, a library in PySide6_Essentials: Unicode-DFS-2016" in lines
    assert "Opus, a library in av, pygame-ce: BSD-3-Clause" in lines
    assert "libcudart.so" in (tmp_path / "libraries/CUDA.txt").read_text("utf-8")
    assert "Version 2, June 1991" in (tmp_path / "libraries/GPL-2.0.txt").read_text("utf-8")
    assert (tmp_path / "INDEX.txt").read_text("utf-8").splitlines() == lines


def test_an_unknown_library_in_a_wheel_stops_the_build(script: Script, tmp_path: Path) -> None:
    licences, stray = script("licences"), tmp_path / "av.libs/libnobodys-0a1b2c3d.so.1"
    with pytest.raises(licences.Unlicensed, match=r"libnobodys-0a1b2c3d\.so\.1 came with av"):
        licences.take_libraries({stray}, {stray: "av"}, tmp_path)
