"""What holds for all tests."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """Ctrl+C as at a terminal: a shell that starts the tests in the background has their SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Windows are opened by one process, one after another: two would take the keyboard from each other."""
    for item in items:
        if item.path.relative_to(Path(__file__).parent).parts[0] in ("app", "e2e"):
            item.add_marker(pytest.mark.xdist_group("windows"))
