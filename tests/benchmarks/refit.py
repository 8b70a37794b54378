"""How well predictors that are fitted anew to a finished session's answers predict the true returns of its clips.

    .venv/bin/python -m tests.benchmarks.refit SESSION ... [--set NAME=VALUE ...] [--epochs 300] [--fits 2]

Prints one JSON object for each session: the correlation of predicted and true returns over the clips of its newest
checkpoint, over the newer half of them, and of predicted and true rewards of a step; means over the fits. It takes
seconds where a session takes minutes, so settings of the fit can be compared on many sessions. Whether the policy
learns more from a better fit is another question.
"""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path

import numpy as np
import torch

from core.api import load_session
from core.config import Config, replaced
from core.headless.commands import parse_settings
from core.jobs.rollout import pool_segments
from core.nn.stacked_mlp import CPU
from core.preferences.store import FOLDER, PreferenceStore
from core.reward.ensemble import build_ensemble, standardize_members
from core.reward.trainer import RewardTrainer
from core.types import Preference, Segment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="+", type=Path, metavar="SESSION")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="NAME=VALUE")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--fits", type=int, default=2, help="fits with other first weights and draws")
    args = parser.parse_args()
    torch.set_num_threads(1)
    settings = parse_settings(args.settings)
    for folder in args.sessions:
        config, states = load_session(folder)
        segments = pool_segments(states["rollout"])
        with closing(PreferenceStore(folder / FOLDER, read_only=True)) as store:
            answers = list(store.each())
        fits = [
            correlations(replaced(config, **{"seed": seed, **settings}), answers, segments, args.epochs)
            for seed in range(1, args.fits + 1)
        ]
        names = "clips", "newer_clips", "steps"
        means = dict(zip(names, np.mean(fits, axis=0).round(3).tolist(), strict=True))
        print(json.dumps({"session": str(folder), "answers": len(answers), **means}), flush=True)


def correlations(
    config: Config, answers: list[Preference], segments: list[Segment], epochs: int
) -> tuple[float, float, float]:
    ensemble = build_ensemble(config, CPU)
    trainer = RewardTrainer(ensemble, config.reward, np.random.default_rng(config.seed), CPU)
    for answer in answers:
        trainer.add(answer)
    for _ in trainer.epochs(epochs):
        pass
    raw = ensemble.predict(np.stack([s.observations for s in segments]), np.stack([s.actions for s in segments]))
    predicted, true = standardize_members(raw).mean(axis=0), np.stack([s.true_rewards for s in segments])
    clips, newer = (predicted.sum(1), true.sum(1)), len(segments) // 2
    return (
        float(np.corrcoef(*clips)[0, 1]),
        float(np.corrcoef(*(returns[newer:] for returns in clips))[0, 1]),
        float(np.corrcoef(predicted.ravel(), true.ravel())[0, 1]),
    )


if __name__ == "__main__":
    main()
