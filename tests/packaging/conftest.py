"""The scripts of packaging/, which is not a Python package: each is loaded from its file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Script = Callable[[str], ModuleType]
PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    monkeypatch.syspath_prepend(str(PACKAGING))

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, PACKAGING / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load
