"""The version is said in one place."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from core.version import LIBRARIES, VERSION, library_versions

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_project_takes_its_version_from_the_code() -> None:
    assert "version" not in PROJECT["project"] and PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "core.version.VERSION"}


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest and newest[1] == VERSION


def test_each_library_that_the_project_asks_for_is_named() -> None:
    asked = {re.split(r"[^\w-]", line)[0] for line in PROJECT["project"]["dependencies"]}
    assert asked == set(LIBRARIES)


def test_library_versions_are_those_installed_and_loading_none() -> None:
    code = "import sys, core.version as v; print(v.library_versions()['torch'], 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [metadata.version("torch"), "False"]
    assert library_versions()["numpy"] == metadata.version("numpy")


def test_both_programs_tell_it() -> None:
    for package in ("app", "core"):
        command = [sys.executable, "-m", package, "--version"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout == f"somersault {VERSION}\n"
