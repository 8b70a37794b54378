"""Signals and virtual screens for the processes that run the tests, and a fixture for the command line."""

from __future__ import annotations

import faulthandler
import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from core.__main__ import main
from tests.screens import x_server

_screen = ExitStack()
_GRACE_SECONDS = 60
"""Time in which a test has to end once pytest-timeout has interrupted it, and in which its fixtures have to."""
_IN_MEMORY, _ROOM = "/dev/shm", 1_000_000_000
"""Folder of Linux whose files are in memory, and the bytes that must be free there.

In a container there may be few, or programs in it may not be started.
"""
_stderr = 2
"""File descriptor to which a process that is ended writes its stacks."""


def pytest_configure(config: pytest.Config) -> None:
    """Give each process that runs tests its own screen, as windows in two processes would take each other's focus.

    Also restores Ctrl+C, because a shell that starts the tests in the background ignores SIGINT, and keeps the files of
    the tests in memory: sessions sync each answer to disk, which is a fifth of the time of tests with sessions.
    """
    if os.path.isdir(_IN_MEMORY) and shutil.disk_usage(_IN_MEMORY).free > _ROOM and _runs_programs(_IN_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _IN_MEMORY)
    # At a lower priority a busy machine would stop the tests' children instead of slowing them down.
    os.environ["SOMERSAULT_NICE"] = "0"
    global _stderr
    _stderr = os.dup(2)  # while a test runs, its output is captured
    signal.signal(signal.SIGINT, signal.default_int_handler)
    only_distributes = getattr(config.option, "numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ
    if sys.platform == "linux" and not only_distributes:
        os.environ["DISPLAY"] = _screen.enter_context(x_server("1600x1000"))
        os.environ["QT_QPA_PLATFORM"] = "xcb"


def _runs_programs(folder: str) -> bool:
    return sys.platform != "linux" or not os.statvfs(folder).f_flag & os.ST_NOEXEC


@pytest.hookimpl(tryfirst=True)  # before slow tests are deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the repetitions of tests marked slow_after_first, with other parameters, as slow."""
    seen = set[str]()
    for item in items:
        function = item.nodeid.partition("[")[0]
        if item.get_closest_marker("slow_after_first") and function in seen:
            item.add_marker("slow")
        seen.add(function)


def pytest_collection_finish() -> None:
    """Exclude everything loaded with the tests from later garbage collections, which would take longer."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    _screen.close()


def _watch(seconds: float) -> None:
    """End this process with the stacks of all threads unless the next event comes in time.

    Python calls the handler of pytest-timeout only between two of its instructions, and only once: a test that hangs in
    native code, or again while it is being ended, would hold up the whole run.
    """
    faulthandler.dump_traceback_later(seconds, exit=True, file=_stderr)


def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """Start the watchdog; a hook of pytest-timeout, which also sets its own timer."""
    _watch(settings.timeout + _GRACE_SECONDS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    _watch(_GRACE_SECONDS)


def pytest_timeout_cancel_timer(item: pytest.Item) -> None:
    """Stop the watchdog; the test and its fixtures have ended."""
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run a command of the engine in this process; return what it printed, as `out` and `err`.

    code: expected exit code; with 2 the command must print one sentence to stderr, after any progress bar.
    """

    def run(*words: object, code: int = 0) -> Any:
        monkeypatch.setattr(sys, "argv", ["core", *map(str, words)])
        capsys.readouterr()
        assert main() == code
        printed = capsys.readouterr()
        if code == 2:
            (line,) = (line for line in printed.err.splitlines() if line.strip() and "%|" not in line)
            assert line.startswith("somersault: ") and printed.out == ""
        return printed

    return run
