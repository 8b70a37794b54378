"""Environments for other libraries, and subprocesses that end with a line of JSON. Uses the standard library only."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run import PYTHON, ROOT, SetupError, call, torch_index

_TORCH = "torch==2.13.0"

Result = dict[str, Any]


class RunError(Exception):
    """A side of a comparison failed. The message is one sentence."""


@dataclass(frozen=True)
class Peer:
    """Packages that need an environment of their own, in `folder`, and the Python versions that they support."""

    folder: str
    pythons: tuple[tuple[int, int], ...]
    packages: tuple[str, ...]

    @property
    def python(self) -> Path:
        return ROOT / self.folder / PYTHON.relative_to(PYTHON.parents[1])

    def install(self) -> None:
        """Makes the environment unless it exists. Raises SetupError if it cannot be made."""
        stamp = ROOT / self.folder / "installed.txt"
        digest = hashlib.sha256("\n".join((_TORCH, *self.packages)).encode()).hexdigest()
        if self.python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
            return
        if sys.version_info[:2] not in self.pythons:
            fitting = " or ".join(f"{major}.{minor}" for major, minor in self.pythons)
            raise SetupError(f"The peer needs Python {fitting}, and this is {sys.version.split()[0]}.")
        print(f"Setting up {ROOT / self.folder}; the first time takes some minutes.", file=sys.stderr, flush=True)
        call([sys.executable, "-m", "venv", "--clear", self.folder], f"Python could not make {self.folder}")
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        failure = "pip could not install the peer's packages"
        call([*pip, _TORCH, *torch_index(dict(os.environ), gpu=False)], failure)
        call([*pip, _TORCH, *self.packages], failure)  # torch again, or pip may replace it
        stamp.write_text(digest, encoding="utf-8")


def last_line(command: list[str], folder: str) -> Any:
    """Runs the command and returns the JSON of its last output line. Temporary files go to `folder`. Raises RunError."""
    environ = {**os.environ, "TMPDIR": folder, "TEMP": folder}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        raise RunError(f"{Path(command[0]).parents[1].name} failed with exit code {done.returncode}; see above.")
    return json.loads(done.stdout.splitlines()[-1])
