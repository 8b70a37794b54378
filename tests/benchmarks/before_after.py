"""Throughput of two checkouts, compared by running `core bench` in each in turn on the same machine.

    .venv/bin/python -m tests.benchmarks.before_after OLD_CHECKOUT --tasks hopper ant --rounds 2 --steps 600000

Prints, for each task, new / old of the steps per second of collecting and of teaching (median of the rounds), and the
same divided by the ratio of raw physics, which corrects for a machine whose speed changes between two runs. The old
checkout runs with the interpreter of this one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from core.tasks import PAPER_ROBOTS

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ("collecting", "teaching")


def bench(checkout: Path, task: str, steps: int) -> dict[str, float]:
    """Return raw_steps_per_second, collecting_steps_per_second and teaching_steps_per_second by name."""
    command = [sys.executable, "-m", "core", "bench", "--task", task, "--json"]
    command += ["--steps", str(steps)] if steps else []
    output = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(output.splitlines()[-1]))


def compare(old: Path, task: str, rounds: int, steps: int) -> str:
    """Return a row of the table for one task."""
    pairs = [(bench(old, task, steps), bench(ROOT, task, steps)) for _ in range(rounds)]
    cells = []
    for figure in FIGURES:
        name = f"{figure}_steps_per_second"
        plain = [new[name] / before[name] for before, new in pairs]
        of_raw = [
            ratio * before["raw_steps_per_second"] / new["raw_steps_per_second"]
            for ratio, (before, new) in zip(plain, pairs, strict=True)
        ]
        cells += [f"{statistics.median(plain):.2f}", f"{statistics.median(of_raw):.2f}"]
    return f"| {task} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the checkout to compare with")
    parser.add_argument("--tasks", nargs="+", default=["hopper-backflip", *PAPER_ROBOTS], help="(default: all robots)")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each checkout and task")
    parser.add_argument("--steps", type=int, default=0, help="environment steps of the session that is taught; 0: all")
    options = parser.parse_args()
    print("| task | collecting | of raw physics | teaching | of raw physics |\n|---|---|---|---|---|")
    for task in options.tasks:
        print(compare(options.old.resolve(), task, options.rounds, options.steps), flush=True)


if __name__ == "__main__":
    main()
