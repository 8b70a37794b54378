"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Ctrl+C as at a terminal: a shell that starts the tests in the background has their SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
