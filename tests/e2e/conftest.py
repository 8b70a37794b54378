"""Whole runs in the test's own folder, all closed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from PySide6.QtCore import QSettings

from tests.core.builders import tiny
from tests.e2e.bundle import screen
from tests.e2e.taught import Finished, Taught, Teach


@pytest.fixture(autouse=True)
def one_torch_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests and the processes that they start from reading or changing the user's own settings."""
    folder = str(tmp_path_factory.mktemp("settings"))
    monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, folder)


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """DISPLAY of a virtual screen used only by the tests of one module."""
    with screen() as name:
        yield name


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Whole runs, each run once for all tests; tests must not change them or their folders."""
    runs: dict[str, Taught] = {}

    def get(**changes: Any) -> Taught:
        key = repr(sorted(changes.items()))
        if key not in runs:
            runs[key] = Taught(tmp_path_factory.mktemp("finished") / "s", tiny(**changes))
            runs[key].finished()
        return runs[key]

    return get


@pytest.fixture
def teach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Teach]:
    monkeypatch.chdir(tmp_path)
    made: list[Taught] = []

    def start(
        name: str = "s", apart: bool = False, threads: int = 1, checkpoint_seconds: float = 60.0, **changes: Any
    ) -> Taught:
        made.append(Taught(tmp_path / name, tiny(**changes), apart, threads, checkpoint_seconds))
        return made[-1]

    yield start
    for taught in made:
        taught.close()
