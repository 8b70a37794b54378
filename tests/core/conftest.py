from __future__ import annotations

from pathlib import Path

import pytest
import torch

import core  # noqa: F401 - before a test module imports mujoco: it chooses how MuJoCo draws without a display


@pytest.fixture(autouse=True, scope="session")
def one_torch_thread() -> None:
    """As in the children: more of them wait for each other where cores are few."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is written into the current folder goes to one of the test's own."""
    monkeypatch.chdir(tmp_path)
