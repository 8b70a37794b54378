"""Accuracy of predictors refitted to a finished session's answers in predicting the true returns of its clips.

    .venv/bin/python -m tests.benchmarks.refit SESSION ... [--taught SESSION ...] [--answers N] [--set NAME=VALUE ...]

Prints one JSON object for each session: the correlation of predicted and true returns over the clips of its newest
checkpoint, over the newer half of them, and of predicted and true rewards of a step; means over the fits. It takes
seconds where a session takes minutes, so settings of the fit can be compared on many sessions. Whether the policy
learns more from a better fit is another question.

With --taught, one session for each, begun from a policy that the true reward has taught: the correlation over the clips
of both, and by how many standard deviations the taught policy's clips are better on average than the newer half of the
session's own, as predicted and in truth. A reward that ranks them lower teaches something else.
"""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from core.api import load_session
from core.config import Config, replaced
from core.headless.settings import parse_settings
from core.nn.stacked_mlp import CPU
from core.preferences.store import FOLDER, PreferenceStore
from core.reward.ensemble import RewardEnsemble, build_ensemble
from core.reward.normalization import standardize_members
from core.reward.trainer import RewardTrainer
from core.session.job_states import pool_segments
from core.types import Preference, Segment

Array = npt.NDArray[Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="+", type=Path, metavar="SESSION")
    parser.add_argument("--taught", nargs="+", type=Path, default=[], metavar="SESSION")
    parser.add_argument("--answers", type=int, help="fit to the first N answers (default: all)")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="NAME=VALUE")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--fits", type=int, default=2, help="fits with other first weights and draws")
    args = parser.parse_args()
    torch.set_num_threads(1)
    settings = parse_settings(args.settings)
    for folder, taught in zip_longest(args.sessions, args.taught):
        config, states = load_session(folder)
        own = pool_segments(states["rollout"])
        better = pool_segments(load_session(taught)[1]["rollout"]) if taught else []
        with closing(PreferenceStore(folder / FOLDER, read_only=True)) as store:
            answers = list(store.each())[: args.answers]
        fits = [
            figures(fitted(replaced(config, **{"seed": seed, **settings}), answers, args.epochs), own, better)
            for seed in range(1, args.fits + 1)
        ]
        means = {name: round(float(np.mean([fit[name] for fit in fits])), 3) for name in fits[0]}
        print(json.dumps({"session": str(folder), "answers": len(answers), **means}), flush=True)


def fitted(config: Config, answers: list[Preference], epochs: int) -> RewardEnsemble:
    ensemble = build_ensemble(config, CPU)
    trainer = RewardTrainer(ensemble, config.reward, np.random.default_rng(config.seed), CPU)
    for answer in answers:
        trainer.add(answer)
    for _ in trainer.epochs(epochs):
        pass
    return ensemble


def figures(ensemble: RewardEnsemble, own: list[Segment], taught: list[Segment]) -> dict[str, float]:
    """Return the correlations over the session's own clips and those of a taught policy, if any, and the latter's lead."""
    segments, half = own + taught, len(own) // 2
    raw = ensemble.predict(np.stack([s.observations for s in segments]), np.stack([s.actions for s in segments]))
    predicted, true = standardize_members(raw).mean(axis=0), np.stack([s.true_rewards for s in segments])
    clips = predicted.sum(1), true.sum(1)
    found = {
        "clips": correlation(*(returns[: len(own)] for returns in clips)),
        "newer_clips": correlation(*(returns[half : len(own)] for returns in clips)),
        "steps": correlation(predicted[: len(own)].ravel(), true[: len(own)].ravel()),
    }
    if not taught:
        return found
    leads = [(r[len(own) :].mean() - r[half : len(own)].mean()) / r[: len(own)].std() for r in clips]
    return found | {"both": correlation(*clips), "predicted_lead": leads[0], "true_lead": leads[1]}


def correlation(one: Array, other: Array) -> float:
    return float(np.corrcoef(one, other)[0, 1])


if __name__ == "__main__":
    main()
