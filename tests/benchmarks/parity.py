"""ONNX files against the program: largest difference over 1,000 states of taught sessions, robot by robot.

    .venv/bin/python -m tests.benchmarks.parity --steps 100000

Teaches the paper's eight robots, a robot from an MJCF file (Gymnasium's humanoid) and Pong briefly with the settings of
the window, and exports each. Prints a line for each and one JSON object at the end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import gymnasium

from core.portable.export import LIMIT, export_onnx
from core.tasks import PAPER_ROBOTS

_ROOT = Path(__file__).resolve().parents[2]
_GAME_STEPS = 6000
_HUMANOID = {
    "name": "rise",
    "title": "Humanoid: rising",
    "instruction": "Choose the clip in which the humanoid keeps its body higher.",
    "clip_seconds": 1.5,
    "oracle": "height",
}


def teach(task: str, folder: Path, labels: int, steps: int) -> None:
    words = [task, "--teacher", "oracle", "--labels", labels, "--steps", steps, "--session", folder, "--json"]
    command = [sys.executable, "-m", "core", "teach", *map(str, words)]
    subprocess.run(command, cwd=_ROOT, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100_000)
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        behaviour = Path(scratch) / "rise.json"
        model = Path(gymnasium.__file__).parent / "envs/mujoco/assets/humanoid.xml"
        behaviour.write_text(json.dumps({**_HUMANOID, "robot": f"mjcf:{model}"}))
        for task in (*PAPER_ROBOTS, str(behaviour), "pong"):
            name = Path(task).stem
            teach(task, Path(scratch) / name, options.labels, _GAME_STEPS if task == "pong" else options.steps)
            found[name] = export_onnx(Path(scratch) / name, Path(scratch) / "onnx" / name / "p.onnx").differences
            print(name, found[name], file=sys.stderr)
    largest = {part: max(values[part] for values in found.values()) for part in ("policy", "reward")}
    print(json.dumps({"limit": LIMIT, "largest": largest, "differences": found}))


if __name__ == "__main__":
    main()
