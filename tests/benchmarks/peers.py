"""Environments for other libraries, and subprocesses that end with a line of JSON. Uses the standard library only."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run import CONSTRAINTS, PYTHON, ROOT, SetupError, call, install, torch_index

_TORCH = next(pin for pin in CONSTRAINTS.read_text("utf-8").splitlines() if pin.startswith("torch=="))

Result = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """Packages that need an environment of their own, in `folder`, and the Python versions that they support."""

    folder: str
    pythons: tuple[tuple[int, int], ...]
    packages: tuple[str, ...]

    @property
    def python(self) -> Path:
        return ROOT / self.folder / PYTHON.relative_to(PYTHON.parents[1])

    def run(self, script: str, **given: object) -> Any:
        """Run a script of this folder in the peer's environment, with these values as JSON."""
        return last_line(self.python, Path(__file__).with_name(script), json.dumps(given))

    def install(self) -> None:
        """Make the environment unless it exists. Raises SetupError if it cannot be made."""
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


def last_line(python: Path, *words: object) -> Any:
    """Run Python in a temporary folder, and return the JSON of its last output line. Exits if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "TMPDIR": folder, "TEMP": folder, "PYTHONPATH": str(ROOT)}
        command = [str(python), "-P", *map(str, words)]
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stderr[-4000:]}\n{python} failed with exit code {done.returncode}.")
    return json.loads(done.stdout.splitlines()[-1])


def core(*words: object) -> Any:
    """Run `python -m core ... --json` of this program, and return what it prints."""
    return last_line(PYTHON, "-m", "core", *words, "--json")


def task_sizes(name: str) -> tuple[int, int]:
    """Return the steps of a segment and of an episode of the task."""
    task = next(task for task in core("tasks") if task["name"] == name)
    return task["segment_steps"], task["episode_steps"]


def parser(description: str | None, steps: int, peer_threads: int, peer_physics: str) -> argparse.ArgumentParser:
    """Return the argument parser of a comparison, with the common options and these defaults."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--steps", type=int, default=steps, help="environment steps of each run, at least")
    made.add_argument(
        "--peer-threads", type=int, default=peer_threads, help="torch threads of the peer; 0: one per core"
    )
    made.add_argument("--peer-physics", choices=("ours", "gymnasium"), default=peer_physics, help="physics of the peer")
    return made


def set_up(peer: Peer) -> None:
    """Make the environments of both sides. Exits if that fails."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            install(())
        peer.install()
    except SetupError as error:
        sys.exit(str(error))
