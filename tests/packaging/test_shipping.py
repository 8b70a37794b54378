"""The version, the lock, the licences, and the packages' own files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import filelock
import numpy
import pytest

from core.version import LIBRARIES, VERSION
from tests.packaging.conftest import Script
from tests.screens import ROOT, run_python


def test_the_version_is_stated_in_one_place_and_every_dependency_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "core.version.VERSION"}
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest and newest[1] == VERSION
    assert {re.split(r"[^\w-]", line)[0] for line in project["project"]["dependencies"]} == set(LIBRARIES)


def test_a_pin_omits_the_local_version(script: Script) -> None:
    listed = "torch==2.13.0+cpu\nPySide6_Essentials==6.11.3\n-e git+x\nsomething @ file:///x\n"
    assert script("lock").pins(listed) == {"torch": "2.13.0", "pyside6-essentials": "6.11.3"}


def test_these_tests_run_on_the_locked_versions(script: Script) -> None:
    locked = script("lock").pins((ROOT / "packaging/constraints.txt").read_text("utf-8"))
    for name in ("torch", "PySide6-Essentials", "mujoco", "gymnasium", "numpy", "ale-py", "av", "pytest"):
        assert metadata.version(name).partition("+")[0] == locked[name.lower()]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("dpkg"), reason="asks Debian whose a file is")
def test_licences_come_from_the_packages_that_own_the_files(script: Script, tmp_path: Path) -> None:
    shipped = [filelock.__file__, numpy.__file__, str(ROOT / "core/headless/commands.py")]
    lines = script("licences").gather(shipped, tmp_path / "l", tools=("pytest",))
    assert [line.split()[0] for line in lines[:3]] == ["filelock", "numpy", "pytest"]
    assert any(line.startswith("Python ") for line in lines)
    assert (
        "Permission is hereby granted" in (tmp_path / f"l/filelock-{metadata.version('filelock')}/LICENSE").read_text()
    )


@pytest.mark.slow
def test_the_projects_own_files_need_no_owner_even_in_an_editable_install(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, info = ROOT / "core/headless/commands.py", tmp_path / "somersault_left.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: somersault-left\nVersion: 1\n")
    (info / "SOURCES.txt").write_text(os.path.relpath(own, tmp_path) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [file.name for file in metadata.distribution("somersault-left").files or ()] == ["commands.py"]
    lines = script("licences").gather([str(own), str(ROOT / "build/lib/core/api.py")], tmp_path / "l", tools=())
    assert [line.split()[0] for line in lines] == ["Python"]


@pytest.mark.skipif(not shutil.which("dpkg"), reason="asks Debian whose a file is")
def test_a_file_without_an_owner_stops_the_build(script: Script, tmp_path: Path) -> None:
    licences = script("licences")
    (tmp_path / "stray.so").write_bytes(b"")
    with pytest.raises(licences.Unlicensed, match=r"stray\.so belongs to no package"):
        licences.take_system({tmp_path / "stray.so"}, tmp_path)


def test_the_manual_names_each_command_and_option() -> None:
    manual = (ROOT / "packaging/linux/somersault.1").read_text("utf-8").replace("\\-", "-")
    helped = run_python("-m", "app", "--help")
    options = set(re.findall(r"--[a-z-]+", helped.stdout))
    assert "--session" in options
    assert [option for option in options if option not in manual] == []
    helped = run_python("-m", "core", "--help")
    listed = re.search(r"\{(.+?)\}", helped.stdout)
    commands = listed[1].split(",")
    assert "teach" in commands
    assert [name for name in commands if not re.search(rf"^\.BR {name} [,.]$", manual, re.MULTILINE)] == []


@pytest.mark.skipif(not (shutil.which("dpkg-deb") and shutil.which("ar")), reason="makes and opens Debian packages")
@pytest.mark.parametrize(("cuda", "member"), [(False, "data.tar.xz"), (True, "data.tar.zst")])
def test_the_compression_of_the_package_depends_on_its_flavour(
    script: Script, tmp_path: Path, cuda: bool, member: str
) -> None:
    bundle, target = tmp_path / "b", tmp_path / "x.deb"
    shutil.copytree(Path(filelock.__file__).parent, bundle / "lib")
    shutil.copy(numpy.random.mtrand.__file__, bundle / "lib/x.so")
    (bundle / "licences").mkdir()
    (bundle / "licences/INDEX.txt").write_text("numpy\n")
    script("debian").build(bundle, "1.2", "x86_64", cuda, tmp_path / "staging", target, epoch=1_700_000_000)
    listed = subprocess.run(["ar", "t", str(target)], capture_output=True, text=True, check=True).stdout.split()
    assert listed[-1] == member
    fields = subprocess.run(["dpkg-deb", "--field", str(target)], capture_output=True, text=True, check=True).stdout
    assert "Version: 1.2\n" in fields and "Architecture: amd64\n" in fields and "Depends: libc6 (>= 2." in fields
    unpacked = subprocess.run(["dpkg-deb", "--contents", str(target)], capture_output=True, text=True, check=True)
    assert "./usr/lib/somersault/lib/x.so\n" in unpacked.stdout


@pytest.mark.skipif(not (shutil.which("mksquashfs") and shutil.which("dpkg")), reason="makes a squashfs on Debian")
def test_an_appimage_is_the_runtime_followed_by_the_program_and_its_libraries(script: Script, tmp_path: Path) -> None:
    bundle, target = tmp_path / "b", tmp_path / "x.AppImage"
    (bundle / "lib/_internal").mkdir(parents=True)
    (bundle / "licences").mkdir()
    (bundle / "licences/INDEX.txt").write_text("numpy\n")
    (bundle / "somersault").write_text("#!/bin/sh\nbuilt_with=2.3\n")
    (tmp_path / "runtime").write_bytes(b"R" * 4096)
    appimage = script("appimage")
    appimage.build(bundle, tmp_path / "runtime", tmp_path / "tree", target, 1_700_000_000)
    assert target.read_bytes()[:4100] == b"R" * 4096 + b"hsqs" and os.access(target, os.X_OK)
    command = ["unsquashfs", "-o", "4096", "-llc", str(target)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "squashfs-root/AppRun -> usr/lib/somersault/somersault" in listed
    assert all(f"usr/lib/somersault/lib/_internal/{name}\n" in listed for name in appimage.CARRIED)
    assert "\nExec=somersault\n" in (tmp_path / "tree/somersault.desktop").read_text()
    assert "libxcb-cursor0" in (tmp_path / "tree/usr/lib/somersault/licences/INDEX.txt").read_text()
    # Unchanged, although the tree has a hard link to it.
    assert (bundle / "licences/INDEX.txt").read_text() == "numpy\n"
    assert "built_with=2.3\n" in (bundle / "somersault").read_text() != (tmp_path / "tree/AppRun").read_text()


@pytest.mark.skipif(not shutil.which("makensis"), reason="there is no makensis")
def test_the_windows_installer_compiles(tmp_path: Path) -> None:
    (tmp_path / "b/licences").mkdir(parents=True)
    (tmp_path / "b/somersault.exe").write_bytes(b"MZ")
    shutil.copy(ROOT / "LICENSE", tmp_path / "b/licences/LICENSE.txt")
    (tmp_path / "b/_internal/deep").mkdir(parents=True)
    (tmp_path / "b/_internal/deep/inner.dll").write_bytes(b"MZ")
    environ = {"QT_QPA_PLATFORM": "offscreen"}
    icon = [sys.executable, str(ROOT / "packaging/icon.py"), str(tmp_path / "i.ico")]
    subprocess.run(icon, check=True, env=environ)
    names = {"VERSION": "1.2.3", "BUNDLE": tmp_path / "b", "ICON": tmp_path / "i.ico", "OUTPUT": tmp_path / "s.exe"}
    define = [f"-D{name}={value}" for name, value in names.items()]
    script = str(ROOT / "packaging/windows/somersault.nsi")
    done = subprocess.run(["makensis", "-V4", *define, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "s.exe").read_bytes()[:2] == b"MZ"
    assert all(f'File: "{name}"' in done.stdout for name in ("somersault.exe", "LICENSE.txt", "inner.dll"))
