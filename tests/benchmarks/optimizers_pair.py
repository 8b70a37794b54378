"""Policy optimizers of this program and of stable-baselines3 and sb3-contrib on the same backflip, in turn.

    python3 -m tests.benchmarks.optimizers_pair --algorithms ppo trpo a2c --steps 500000 --seeds 0 1 2

Uses the standard library only. The peers get an environment of their own, `.venv-sb3`; making it takes some minutes.
Both sides learn from OpenAI's handwritten reward. Prints one JSON object: the mean return of the last 100 training
episodes, its mean and standard deviation over the seeds, and steps per second. Run it on an idle
machine; it asserts nothing.

By default both sides have our physics, so that their returns are comparable. `--peer-physics gymnasium` gives the peers
Gymnasium's, as their users have it: then speeds are comparable, and returns nearly so.

Our PPO has batches of 12,288 steps, for a reward that is learned meanwhile. With the true reward, smaller batches like
the peers' learn faster:
`--algorithms ppo --ours rollout.environments=64 rollout.steps=32 policy.minibatch=256`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys

from tests.benchmarks.peers import Peer, Result, core, parser, set_up, task_sizes

_TASK = "hopper-backflip"
PEER = Peer(
    ".venv-sb3",
    pythons=((3, 11), (3, 12), (3, 13)),
    packages=("stable-baselines3==2.9.2", "sb3-contrib==2.9.2", "gymnasium[mujoco]>=1.2,<2", "mujoco>=4,<5"),
)
_ALGORITHMS = ("ppo", "trpo", "a2c")
_SIDES = ("sb3", "somersault")


def run_peer(asked: Result, episode: int) -> Result:
    given = {name: asked[name] for name in ("algorithm", "steps", "seed")}
    given |= {"threads": asked["peer_threads"], "physics": asked["peer_physics"], "episode": episode}
    result: Result = PEER.run("optimizers_peer.py", **given)
    return result


def run_ours(asked: Result) -> Result:
    words = [word for name in ("algorithm", "steps", "seed") for word in (f"--{name}", asked[name])]
    for setting in ("true_reward=openai", *asked["ours"]):
        words += ["--set", setting]
    outcome = core("teach", _TASK, "--session", "session", "--teacher", "none", *words)
    steps, rate = outcome["env_steps"], outcome["steps_per_second"]
    return {"steps": steps, "steps_per_second": rate, "true_return": outcome["true_return"]}


def run_all(options: argparse.Namespace) -> list[Result]:
    """Run both sides in turn, for each seed of each algorithm."""
    episode, runs = task_sizes(_TASK)[1], []
    for algorithm in options.algorithms:
        for seed in options.seeds:
            for side in _SIDES:
                print(f"{algorithm}, seed {seed}: {side}", file=sys.stderr, flush=True)
                asked = {**vars(options), "side": side, "algorithm": algorithm, "seed": seed}
                result = run_peer(asked, episode) if side == "sb3" else run_ours(asked)
                runs.append({"side": side, "algorithm": algorithm, "seed": seed, **result})
    return runs


def summary(runs: list[Result]) -> dict[str, Result]:
    """Return by algorithm the means, the spread of the returns, and the ratio of our steps per second to the peer's."""
    found: dict[str, Result] = {}
    for algorithm in dict.fromkeys(run["algorithm"] for run in runs):
        sides: Result = {}
        for side in _SIDES:
            mine = [run for run in runs if (run["algorithm"], run["side"]) == (algorithm, side)]
            returns = [run["true_return"] for run in mine if run["true_return"] is not None]
            sides[side] = {
                "true_return": round(statistics.fmean(returns), 1) if returns else None,
                "spread": round(statistics.stdev(returns), 1) if len(returns) > 1 else None,
                "steps_per_second": round(statistics.median(run["steps_per_second"] for run in mine), 1),
            }
        rates = [sides[side]["steps_per_second"] for side in _SIDES]
        found[algorithm] = {**sides, "ratio": round(rates[1] / rates[0], 2)}
    return found


def main() -> None:
    made = parser(__doc__, steps=500_000, peer_threads=1, peer_physics="ours")
    made.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds of the runs")
    made.add_argument("--algorithms", nargs="+", choices=_ALGORITHMS, default=list(_ALGORITHMS), help="(default: all)")
    made.add_argument("--ours", nargs="+", default=[], metavar="NAME=VALUE", help="config settings of ours")
    options = made.parse_args()
    set_up(PEER)
    runs = run_all(options)
    print(json.dumps({"runs": runs, "algorithms": summary(runs)}))


if __name__ == "__main__":
    main()
