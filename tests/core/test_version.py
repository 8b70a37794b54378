"""The version is stated in one place, and every dependency is listed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from core.version import LIBRARIES, VERSION

ROOT = Path(__file__).resolve().parents[2]


def test_project_and_changelog_have_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "core.version.VERSION"}
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest and newest[1] == VERSION
    assert {re.split(r"[^\w-]", line)[0] for line in project["project"]["dependencies"]} == set(LIBRARIES)


def test_versions_of_libraries_are_found_without_importing_them() -> None:
    code = "import sys, core.version as v; print(v.library_versions()['torch'], 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [metadata.version("torch"), "False"]
