"""Does memory stay flat? Runs the real window, taught by the oracle, and samples the memory of it and its children.

    xvfb-run -a .venv/bin/python tests/benchmarks/memory.py --minutes 20

Prints one JSON object: proportional set size (MB) of window and children after a quarter of the time and at its end,
and their ratio. Shared pages are counted once, by /proc's proportional share.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil


def megabytes(process: psutil.Process) -> float:
    return process.memory_full_info().pss / 1e6


def sample(window: psutil.Process) -> dict[str, float]:
    """Megabytes of the window and of each child, in the order of their start, but for one that has just ended."""
    sizes: dict[str, float] = {}
    for number, process in enumerate([window, *window.children(recursive=True)]):
        try:
            sizes["window" if number == 0 else f"child {number}"] = megabytes(process)
        except psutil.NoSuchProcess:
            continue
    return sizes


def watch(seconds: float, folder: Path) -> list[tuple[float, dict[str, float]]]:
    command = [sys.executable, "-m", "app", "--teacher", "oracle", "--session", str(folder)]
    program = subprocess.Popen([*command, "--quit-after", str(seconds)])
    window, samples, started = psutil.Process(program.pid), [], time.monotonic()
    while program.poll() is None:
        elapsed = time.monotonic() - started
        if elapsed < seconds - 10:
            samples.append((elapsed, sample(window)))
            total = sum(samples[-1][1].values())
            print(f"{elapsed:6.0f} s {total:7.0f} MB {samples[-1][1]}", file=sys.stderr, flush=True)
        time.sleep(10)
    if program.returncode:
        raise SystemExit(f"the window ended with exit code {program.returncode}")
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    seconds = parser.parse_args().minutes * 60
    with tempfile.TemporaryDirectory() as folder:
        samples = watch(seconds + 20, Path(folder) / "memory")
    totals = [(elapsed, sum(sizes.values())) for elapsed, sizes in samples]
    early = min(totals, key=lambda row: abs(row[0] - seconds / 4))
    late = totals[-1]
    print(json.dumps({"early": early, "late": late, "ratio": late[1] / early[1], "late_parts": samples[-1][1]}))


if __name__ == "__main__":
    main()
