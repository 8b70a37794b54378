"""A frozen bundle as its tests start it: which one, on a screen of their own, on machines that lack something."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.screens import ROOT, running, x_server

_PATIENCE_SECONDS = 900


def newest_bundle() -> Path | None:
    """The folder named by SOMERSAULT_BUNDLE, or the newest that packaging/build.py made; None where there is none.

    Of two flavours of one commit, which are equally old, the one without CUDA.
    """
    if named := os.environ.get("SOMERSAULT_BUNDLE"):
        return Path(named)
    made = [path.parent for path in (ROOT / "packaging/dist").glob("*/somersault")]
    return max(made, key=lambda path: ((path / "somersault").stat().st_mtime_ns, "+" not in path.name), default=None)


_FOUND = newest_bundle()
BUNDLE = _FOUND or Path()
PROGRAM = BUNDLE / "somersault"
HAS_CUDA = (BUNDLE / "lib/_internal/torch/lib/libtorch_cuda.so").exists()
needs_bundle = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the launcher and its checks are Linux's"),
    pytest.mark.skipif(_FOUND is None, reason="no bundle: python3 packaging/build.py --folder-only"),
]


def screen() -> AbstractContextManager[str]:
    """A virtual screen that any user and any root folder may draw on; its DISPLAY."""
    return x_server("1600x1000", "-ac")


def environment(home: Path, display: str | None) -> dict[str, str]:
    """The variables of a person's own environment, and none of the environment that the tests run in."""
    home.mkdir(exist_ok=True)
    plain = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    return {**plain, "QT_QPA_PLATFORM": "xcb", "DISPLAY": display} if display else plain


def started(
    command: Sequence[object], environ: dict[str, str], timeout: float = 240, user: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    with _running(command, environ, user) as program:
        output, errors = program.communicate(timeout=timeout)
    return subprocess.CompletedProcess(program.args, program.returncode, output, errors)


def taught(
    command: Sequence[object], environ: dict[str, str], folder: Path, least: int, user: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Lets the window teach in that session's folder until it has so many answers, however long that takes here, then
    asks it to close."""
    with _running(command, environ, user) as program:
        wait_for_answers(program, folder, least)
        program.terminate()
        output, errors = program.communicate(timeout=60)
    return subprocess.CompletedProcess(program.args, program.returncode, output, errors)


def _running(
    command: Sequence[object], environ: dict[str, str], user: int | None
) -> AbstractContextManager[subprocess.Popen[str]]:
    groups: list[str | int] | None = None if user is None else []
    return running(
        command,
        env=environ,
        cwd=environ["HOME"],
        user=user,
        group=user,
        extra_groups=groups,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for_answers(program: subprocess.Popen[str], folder: Path, least: int) -> None:
    """Waits until the session has so many answers, the program ends, or patience does."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while program.poll() is None and answers(folder) < least and time.monotonic() < deadline:
        time.sleep(0.5)


def answers(folder: Path) -> int:
    """Number of answers in a session that a program may have open."""
    try:
        return (folder / "preferences" / "log.jsonl").read_text().count('"do":"add"')
    except FileNotFoundError:  # it is not made yet
        return 0


def with_mounts(mounts: Sequence[str], command: Sequence[object]) -> list[str]:
    """The command, in a view of the file system of its own, in which these mount commands have been carried out."""
    script = " && ".join([*(f"mount {arguments}" for arguments in mounts), f"exec {shlex.join(map(str, command))}"])
    return ["unshare", "--mount", "sh", "-c", script]


def may_mount() -> bool:
    allowed = shutil.which("unshare") and os.geteuid() == 0
    return bool(allowed) and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0
