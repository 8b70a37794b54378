"""The version is stated in one place, and every dependency is listed."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata

from core.version import LIBRARIES, VERSION
from tests.screens import ROOT, run_python


def test_project_and_changelog_have_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "core.version.VERSION"}
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest and newest[1] == VERSION
    assert {re.split(r"[^\w-]", line)[0] for line in project["project"]["dependencies"]} == set(LIBRARIES)


def test_versions_of_libraries_are_found_without_importing_them() -> None:
    code = "import sys, core.version as v; print(v.library_versions()['torch'], 'torch' in sys.modules)"
    assert run_python("-c", code).stdout.split() == [metadata.version("torch"), "False"]
