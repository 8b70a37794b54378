"""Sessions that are killed and lose all their checkpoints, compared with the same sessions undisturbed.

    .venv/bin/python -m tests.benchmarks.lost_checkpoints --labels 100 --steps 1000000 --seeds 0 1 2 3 4

Each session is taught without interruption, and a second time: killed after half of its answers, stripped of its
checkpoints, and resumed. Prints a row of figures for each seed, and whether the two ended alike.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from core.preferences.store import FOLDER
from core.session.checkpoint import CHECKPOINTS
from tests.benchmarks.peers import ROOT, Result, core

MEASURE = "clean_backflips_per_episode"


def stop_half_way(folder: Path, labels: int, given: tuple[object, ...]) -> None:
    """Teach until half of the answers are on disk, kill the run, and delete its checkpoints."""
    command = [sys.executable, "-m", "core", "teach", "hopper-backflip", *map(str, given), "--session", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as run:
        while len(list((folder / FOLDER).glob("*.safetensors"))) < labels // 2:
            if run.poll() is not None:
                raise SystemExit("The run ended before it could be killed.")
            time.sleep(0.05)
        run.kill()
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def compare(labels: int, steps: int, seed: int) -> bool:
    """Print both results of a seed; return whether they are equal."""
    given = ("--labels", labels, "--steps", steps, "--seed", seed)
    with tempfile.TemporaryDirectory() as folder:
        whole: Result = core("teach", "hopper-backflip", *given, "--session", f"{folder}/whole")
        stop_half_way(Path(folder) / "killed", labels, given)
        resumed: Result = core("teach", "--resume", f"{folder}/killed")
    same = all(whole[name] == resumed[name] for name in ("true_return", "measure", "labels", "env_steps"))
    figures = [json.dumps(result["measure"][MEASURE]) for result in (whole, resumed)]
    print(f"| {seed} | {' | '.join(figures)} | {'yes' if same else 'no'} |", flush=True)
    return same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options = parser.parse_args()
    print("| seed | clean backflips | after the loss of all checkpoints | equal |\n|---|---|---|---|")
    same = [compare(options.labels, options.steps, seed) for seed in options.seeds]
    print(f"\n{sum(same)} of {len(same)} ended alike")


if __name__ == "__main__":
    main()
