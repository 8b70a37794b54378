"""Evaluation of a taught policy under different physics.

    .venv/bin/python -m tests.benchmarks.physics SESSION

The task uses the implicitfast integrator with steps of 5 ms. The alternatives are Gymnasium's fourth-order Runge-Kutta
with its own steps of 2 ms (control at 41.7 Hz, the nearest to 40), and the same with steps four times finer.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from core.rollout.episodes import evaluate
from core.session.session import Session
from core.tasks import get_task

PHYSICS = {
    "as taught: implicitfast, 5 ms": {},
    "Gymnasium's: Runge-Kutta, 2 ms": {"integrator": "rk4", "timestep": 0.002, "frame_skip": 12, "episode_steps": 333},
    "finer: Runge-Kutta, 0.5 ms": {"integrator": "rk4", "timestep": 0.0005, "frame_skip": 50},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("session", type=Path, help="session folder of hopper-backflip")
    session = Session.open(parser.parse_args().session)
    print(
        "| physics | true return | backflips an episode | clean | landed upright | clean landings |\n|---|---|---|---|---|---|"
    )
    for name, changes in PHYSICS.items():
        task = dataclasses.replace(get_task(session.config.task, session.config.true_reward), **changes)
        result = evaluate(session, 20, task=task)
        figures = " | ".join(f"{value:.2f}" for value in result["measure"].values())
        print(f"| {name} | {result['true_return']:.0f} | {figures} |")
    session.close()


if __name__ == "__main__":
    main()
