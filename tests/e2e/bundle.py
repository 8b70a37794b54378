"""Access to a frozen bundle for its tests: finding it, a screen for it, and machines that lack something."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.screens import ROOT, running, x_server

_PATIENCE_SECONDS = 900


def newest_bundle() -> Path | None:
    """Return the folder in SOMERSAULT_BUNDLE or the newest one made by packaging/build.py; None if there is none.

    Of two flavours of one commit, which are equally old, the one without CUDA is chosen.
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
    """DISPLAY of a virtual screen that is open to any user and any root folder."""
    return x_server("1600x1000", "-ac")


@contextmanager
def folder_on_disk(prefix: str) -> Iterator[Path]:
    """A temporary folder for a gigabyte or more, which other users can read.

    pytest's own may be in memory, where debootstrap usually refuses to make a system: no device files are allowed there.
    """
    with tempfile.TemporaryDirectory(prefix=prefix, dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def environment(home: Path, display: str | None) -> dict[str, str]:
    """Return a person's environment variables, without those of the environment that runs the tests."""
    home.mkdir(exist_ok=True)
    plain = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    return {**plain, "QT_QPA_PLATFORM": "xcb", "DISPLAY": display} if display else plain


def started(
    command: Sequence[object], environ: dict[str, str], timeout: float = 240, user: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    with _running(command, environ, user) as program:
        output, errors = program.communicate(timeout=timeout)
    return subprocess.CompletedProcess(program.args, program.returncode, output, errors)


def taught(
    command: Sequence[object], environ: dict[str, str], folder: Path, least: int, user: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Let the window teach in that session's folder until it has this number of answers, however long it takes, then
    ask it to close."""
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
    """Wait until the session has this number of answers, the program ends, or the time is up."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while program.poll() is None and answers(folder) < least and time.monotonic() < deadline:
        time.sleep(0.5)


def answers(folder: Path) -> int:
    """Return the number of answers in a session that another program may have open."""
    try:
        return (folder / "preferences" / "log.jsonl").read_text().count('"do":"add"')
    except FileNotFoundError:  # the session does not exist yet
        return 0


def with_mounts(mounts: Sequence[str], command: Sequence[object]) -> list[str]:
    """Return the command with its own view of the file system, in which these mount commands are run first."""
    script = " && ".join([*(f"mount {arguments}" for arguments in mounts), f"exec {shlex.join(map(str, command))}"])
    return ["unshare", "--mount", "sh", "-c", script]


def may_mount() -> bool:
    allowed = shutil.which("unshare") and os.geteuid() == 0
    return bool(allowed) and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0
