"""Displays that only the tests draw on, and processes that have one or none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def x_server(size: str, *options: str) -> Iterator[str]:
    """The DISPLAY of an X server of this size, as 640x480, that only listens on its socket."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{size}x24", "-nolisten", "tcp", *options]
    with subprocess.Popen(command, pass_fds=[writer], stderr=subprocess.DEVNULL) as server:
        os.close(writer)
        with os.fdopen(reader) as told:
            number = told.readline().strip()
        try:
            yield f":{number}"
        finally:
            server.terminate()


def run_python(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT), **environ}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=False)
