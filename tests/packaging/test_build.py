"""The build command: when its environment is recreated, and its message where there is no commit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.conftest import Script


@pytest.fixture
def made(script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Make the environment without pip; return whether it was created from scratch."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr("run.CONSTRAINTS", tmp_path / "constraints.txt")
    (tmp_path / "constraints.txt").write_text("torch==1\n")
    build = script("build").Build("cpu", tmp_path)
    build.work = tmp_path / "work"
    build.python = build.work / "venv/bin/python"
    asked: list[tuple[Any, ...]] = []

    def call(*command: Any, **_: str) -> None:
        asked.append(command)
        if "venv" in command:
            build.python.parent.mkdir(parents=True, exist_ok=True)
            build.python.touch()

    def make() -> bool:
        asked.clear()
        build.make_environment()
        return (sys.executable, "-m", "venv", "--clear", build.work / "venv") in asked

    monkeypatch.setattr(build, "call", call)
    monkeypatch.setattr(build, "require_flavour", lambda: None)
    monkeypatch.setattr("run.torch_index", lambda *_: [])
    return make


def test_an_environment_is_used_again_until_the_constraints_change(made: Callable[[], bool], tmp_path: Path) -> None:
    assert [made(), made()] == [True, False]
    (tmp_path / "constraints.txt").write_text("torch==2\n")
    assert [made(), made()] == [True, False]


def test_without_a_commit_the_build_asks_for_the_time(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = script("build")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    with pytest.raises(SystemExit, match=r"^git names no commit .* \(fatal: .*\): set SOURCE_DATE_EPOCH"):
        build.Build("cpu", tmp_path)
