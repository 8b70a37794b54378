"""Displays for the tests, and programs started with or without one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def x_server(size: str, *options: str) -> Iterator[str]:
    """Yield the DISPLAY of an X server of this size, such as 640x480, that listens only on its socket."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{size}x24", "-nolisten", "tcp", *options]
    with subprocess.Popen(command, pass_fds=[writer], stderr=subprocess.DEVNULL) as server:
        os.close(writer)
        with os.fdopen(reader) as pipe:
            number = pipe.readline().strip()
        assert number, "Xvfb has not started"
        try:
            yield f":{number}"
        finally:
            server.terminate()


def run_python(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT), **environ}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=150, check=False)


@contextmanager
def pipe_that_nobody_reads() -> Iterator[int]:
    """Yield the writing end of a pipe whose reading end is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@contextmanager
def running(command: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a program; `options` are Popen's. At the end it is killed with all processes that it has started.

    Popen alone would wait for it without a limit after a failed test.
    """
    with subprocess.Popen([*map(str, command)], text=True, **options) as program:
        try:
            yield program
        finally:
            if program.poll() is None:
                for process in (*psutil.Process(program.pid).children(recursive=True), program):
                    with suppress(psutil.NoSuchProcess):
                        process.kill()
