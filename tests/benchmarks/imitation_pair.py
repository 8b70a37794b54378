"""Speed and learning of this program and of HumanCompatibleAI's `imitation` on the same backflip, in turn.

    python3 -m tests.benchmarks.imitation_pair --steps 100000 --labels 100 --rounds 3

On both sides the oracle answers by OpenAI's handwritten reward. Uses the standard library only. The peer gets an
environment of its own, `.venv-imitation`; making it takes some minutes. Prints one JSON object. `ratio` compares all
steps per second; the peer's include cheap ones that only fill its queries. `trained_ratio` counts the steps that the
policy learned from. Run it on an idle machine; it asserts nothing.

By default the peer runs as its users run it: Gymnasium's physics, torch's default number of threads, and the 60
iterations that its tutorial recommends (the tutorial itself uses 5, to be quick). With
`--peer-iterations 5 --peer-physics ours --peer-threads 1` it has every advantage that we found for its speed.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys

from tests.benchmarks.peers import Peer, Result, core, parser, set_up, task_sizes

_TASK = "hopper-backflip"
PEER = Peer(
    ".venv-imitation",
    pythons=((3, 11), (3, 12)),
    packages=(
        "imitation==1.0.1",
        "mujoco<3.2",  # the newest version that the peer's Gymnasium can load
        "numpy<2",
        "pandas<2.3",
        "datasets<3",
        "setuptools>=77.0.3,<81",  # required by torch; newer versions lack pkg_resources, which the peer's sacred imports
        "imageio",  # imported by Gymnasium's MuJoCo tasks
    ),
)


def run_peer(options: argparse.Namespace, seed: int) -> Result:
    segment, episode = task_sizes(_TASK)
    given = {"steps": options.steps, "labels": options.labels, "seed": seed, "iterations": options.peer_iterations}
    given |= {"threads": options.peer_threads, "physics": options.peer_physics, "segment": segment, "episode": episode}
    result: Result = PEER.run("imitation_peer.py", **given)
    return result


def run_ours(options: argparse.Namespace, seed: int) -> Result:
    given = ("--teacher", "oracle", "--labels", options.labels, "--steps", options.steps, "--seed", seed)
    outcome = core("teach", _TASK, "--session", "session", *given, "--set", "true_reward=openai")
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
    """Run the peer, then our program, with the number as the seed."""
    sides = {"imitation": run_peer, "somersault": run_ours}
    results: Result = {"seed": number}
    for name, side in sides.items():
        print(f"round {number + 1} of {options.rounds}: {name}", file=sys.stderr, flush=True)
        results[name] = side(options, number)
    return {**results, "ratio": _ratio(results, "steps"), "trained_ratio": _ratio(results, "trained_steps")}


def _ratio(results: Result, steps: str) -> float:
    ours, peer = (results[name][steps] / results[name]["seconds"] for name in ("somersault", "imitation"))
    return round(ours / peer, 2)


def main() -> None:
    made = parser(__doc__, steps=100_000, peer_threads=0, peer_physics="gymnasium")
    made.add_argument("--labels", type=int, default=100, help="answers in each run")
    made.add_argument("--rounds", type=int, default=2, help="pairs of runs, each pair with its own seed")
    made.add_argument("--peer-iterations", type=int, default=60, help="alternations of the peer's policy and reward")
    options = made.parse_args()
    if options.labels < options.peer_iterations + 15:  # it asks a tenth first, and at least one in each iteration
        made.error("give more labels or fewer --peer-iterations: the peer asks in each of its iterations")
    set_up(PEER)
    rounds = [run_round(number, options) for number in range(options.rounds)]
    medians = {name: statistics.median(entry[name] for entry in rounds) for name in ("ratio", "trained_ratio")}
    print(json.dumps({"rounds": rounds, **{f"median_{name}": value for name, value in medians.items()}}))


if __name__ == "__main__":
    main()
