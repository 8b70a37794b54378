"""Speed and learning of this program and of HumanCompatibleAI's `imitation` on the same backflip, in turn.

    python3 tests/benchmarks/imitation_pair.py --steps 100000 --labels 100 --rounds 3

Uses the standard library only. The peer gets an environment of its own, `.venv-imitation`; making it takes some
minutes. Prints a table and one JSON object. `ratio` compares all steps per second; the peer's include cheap ones that
only fill its queries. `trained_ratio` counts the steps that the policy learned from. Run it on an idle machine; it
asserts nothing.

By default the peer runs as its users have it: Gymnasium's physics, torch's own number of threads, and the 60 turns
between policy and reward that its tutorial recommends (the tutorial itself has 5, to be quick). With
`--peer-iterations 5 --peer-physics ours --peer-threads 1` it has every advantage that we found for its speed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from run import PYTHON, SetupError, install
from tests.benchmarks.peers import Peer, Result, RunError, last_line

_TASK = "hopper-backflip"
PEER = Peer(
    ".venv-imitation",
    pythons=((3, 11), (3, 12)),
    packages=(
        "imitation==1.0.1",
        "mujoco<3.2",  # what the peer's Gymnasium can load
        "numpy<2",
        "pandas<2.3",
        "datasets<3",
        "setuptools>=77.0.3,<81",  # as torch asks; a newer one lacks pkg_resources, which the peer's sacred imports
        "imageio",  # imported by Gymnasium's MuJoCo tasks
    ),
)
_THREADS_HELP = "torch threads of the peer; 0 for torch's own choice, one per core"
_COLUMNS = ("steps", "trained_steps", "seconds", "steps_per_second", "labels", "backflips_per_episode")


def lengths() -> tuple[int, int]:
    """Returns the steps of a segment and of an episode of our task; the peer uses the same."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = last_line([str(PYTHON), "-m", "core", "tasks", "--json"], folder)
    task = next(task for task in tasks if task["name"] == _TASK)
    return task["segment_steps"], task["episode_steps"]


def run_peer(options: argparse.Namespace, seed: int) -> Result:
    segment, episode = lengths()
    given = {"steps": options.steps, "labels": options.labels, "seed": seed, "threads": options.peer_threads}
    given |= {"segment": segment, "episode": episode}
    given |= {"iterations": options.peer_iterations, "physics": options.peer_physics}
    flags = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    script = Path(__file__).with_name("imitation_peer.py")
    with tempfile.TemporaryDirectory() as folder:
        return last_line([str(PEER.python), "-P", str(script), *flags], folder)


def run_ours(options: argparse.Namespace, seed: int) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        command = [str(PYTHON), "-m", "core", "teach", _TASK, "--teacher", "oracle", "--labels", str(options.labels)]
        command += ["--steps", str(options.steps), "--seed", str(seed), "--session", f"{folder}/session", "--json"]
        outcome = last_line(command, folder)
    backflips = outcome["measure"].get("backflips_per_episode", math.nan)
    return {
        "steps": outcome["env_steps"],
        "trained_steps": outcome["env_steps"],
        "seconds": round(outcome["env_steps"] / outcome["steps_per_second"], 3),
        "steps_per_second": outcome["steps_per_second"],
        "labels": outcome["labels"],
        "backflips_per_episode": backflips if math.isfinite(backflips) else None,
    }


def run_round(number: int, options: argparse.Namespace) -> Result:
    """Runs the peer, then ours, with the same seed."""
    seed = options.seed + number
    sides = {"imitation": run_peer, "somersault": run_ours}
    results: Result = {"seed": seed}
    for name, side in sides.items():
        print(f"round {number + 1} of {options.rounds}: {name}", file=sys.stderr, flush=True)
        results[name] = side(options, seed)
    return {**results, "ratio": _ratio(results, "steps"), "trained_ratio": _ratio(results, "trained_steps")}


def _ratio(results: Result, steps: str) -> float:
    ours, peer = (results[name][steps] / results[name]["seconds"] for name in ("somersault", "imitation"))
    return round(ours / peer, 2)


def table(rounds: list[Result], medians: Result) -> str:
    lines = [f"{'seed':>5}  {'':12}" + "".join(f"{name:>22}" for name in _COLUMNS) + f"{'ratio':>9}{'trained':>9}"]
    for entry in rounds:
        for name in ("imitation", "somersault"):
            cells = "".join(f"{_cell(entry[name][column]):>22}" for column in _COLUMNS)
            ratio = f"{entry['ratio']:9.2f}{entry['trained_ratio']:9.2f}" if name == "somersault" else ""
            lines.append(f"{entry['seed']:>5}  {name:12}{cells}{ratio}")
    ends = f"median ratio: {medians['ratio']:.2f}, counting only trained steps: {medians['trained_ratio']:.2f}"
    return "\n".join([*lines, ends])


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, int) else f"{value:.2f}"


def parse(args: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000, help="environment steps of each run, at least")
    parser.add_argument("--labels", type=int, default=100, help="answers in each run")
    parser.add_argument("--rounds", type=int, default=2, help="pairs of runs, each pair with its own seed")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first round")
    parser.add_argument("--peer-threads", type=int, default=0, help=_THREADS_HELP)
    parser.add_argument(
        "--peer-iterations", type=int, default=60, help="alternations between the peer's policy and reward"
    )
    parser.add_argument(
        "--peer-physics", default="gymnasium", choices=("gymnasium", "ours"), help="physics of the peer"
    )
    parser.add_argument("--json", action="store_true", help="only the JSON object on stdout; the table on stderr")
    options = parser.parse_args(args)
    if options.labels < options.peer_iterations + 15:  # it asks a tenth first, and at least one in each turn
        parser.error("give more labels or fewer --peer-iterations: the peer asks in each of its iterations")
    if min(options.steps, options.rounds, options.peer_iterations) < 1 or min(options.seed, options.peer_threads) < 0:
        parser.error("give at least one step and one round, and no negative seed or threads")
    return options


def main(args: list[str]) -> None:
    options = parse(args)
    with contextlib.redirect_stdout(sys.stderr):
        install(())
    PEER.install()
    rounds = [run_round(number, options) for number in range(options.rounds)]
    medians = {name: statistics.median(entry[name] for entry in rounds) for name in ("ratio", "trained_ratio")}
    print(table(rounds, medians), file=sys.stderr if options.json else sys.stdout, flush=True)
    print(json.dumps({"rounds": rounds, **{f"median_{name}": value for name, value in medians.items()}}))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (SetupError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except RunError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
