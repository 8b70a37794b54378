"""Backflips learned with several seeds and numbers of answers, one run after another.

    .venv/bin/python -m tests.benchmarks.seeds --labels 100 50 --seeds 0 1 2 3 4

Prints a table with a row for each run, from the result of `core teach` (last training episodes) and from an evaluation
of the saved policy without noise. Other options are passed to `core teach`. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import tempfile

from tests.benchmarks.peers import Result, core

MEASURE = "backflips_per_episode"
OTHERS = ("clean_backflips_per_episode", "upright_landings_per_episode", "clean_landings_per_episode")
"""Further figures of the evaluation."""


def teach(labels: int, seed: int, extra: list[str]) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        given = ("--labels", labels, "--seed", seed, "--session", f"{folder}/s", *extra)
        result: Result = core("teach", "hopper-backflip", *given)
        result["evaluated"] = core("evaluate", f"{folder}/s", "--episodes", 20)["measure"]
    return result


def row(result: Result) -> str:
    flips, evaluated = result["measure"][MEASURE], result["evaluated"]
    figures = " | ".join(f"{value:.2f}" for value in (flips, *(evaluated[name] for name in (MEASURE, *OTHERS))))
    cost = f"{result['env_steps']} | {result['wall_seconds']:.0f} | {result['steps_per_second']:.0f}"
    return f"| {result['labels']} | {result['seed']} | {figures} | {result['true_return']:.0f} | {cost} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=[100], help="numbers of answers")
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="seeds for each number of answers"
    )
    options, extra = parser.parse_known_args()
    print(
        "| labels | seed | flips | flips without noise | clean | landed upright | clean landings | true return | steps"
        " | seconds | steps/s |"
    )
    print("|" + "---|" * 11)
    for labels in options.labels:
        results = []
        for seed in options.seeds:
            results.append(teach(labels, seed, extra))
            print(row(results[-1]), flush=True)
        taught = sum(result["measure"][MEASURE] >= 3 for result in results)
        print(f"\n{labels} labels: {taught} of {len(results)} seeds reached 3 backflips an episode\n", flush=True)


if __name__ == "__main__":
    main()
