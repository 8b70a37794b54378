"""Signals and virtual screens of the processes that run the tests."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack

import pytest

from tests.screens import x_server

_screen = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    """Gives each process that runs tests a screen of its own: windows in two processes would take each other's focus.

    Also restores Ctrl+C: a shell that starts the tests in the background has SIGINT ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    only_distributes = getattr(config.option, "numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ
    if sys.platform == "linux" and not only_distributes:
        os.environ["DISPLAY"] = _screen.enter_context(x_server("1600x1000"))
        os.environ["QT_QPA_PLATFORM"] = "xcb"


def pytest_unconfigure() -> None:
    _screen.close()
