"""Accuracy of reward fits on the answers that come next, for each kind of hidden units. For sessions of robots.

    .venv/bin/python tests/benchmarks/ranking.py SESSION ...

Fits the first quarter of the session's answers for a hundred epochs, then repeatedly adds answers in their order and
fits for twelve. Each fit is evaluated on the next answers, none of which it has seen. Prints one JSON object for each
session and each kind of hidden units (reward.activation), with means over the first and the second half of these fits:
the share of next answers ranked rightly, and the correlation of predicted and true reward over the steps of their
segments.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.config import Config
from core.nn import threads
from core.nn.stacked_mlp import ACTIVATIONS, CPU
from core.reward.ensemble import RewardEnsemble, build_ensemble, normalize_reward
from core.reward.trainer import RewardTrainer
from core.seeding import generator
from core.session.session import Session
from core.types import Choice, Preference

_FIRST, _LATER = 100, 12
"""Epochs of the first fit and of each later one."""
_FITS = 21
"""Number of fits after the first quarter of the answers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="+", type=Path, help="session folders of a robot")
    threads.set_num_threads(1)
    for folder in parser.parse_args().sessions:
        session = Session.open(folder)
        config = session.config
        with contextlib.closing(session.reader()) as store:
            answers = [answer for answer in store.each() if answer.choice in (Choice.LEFT, Choice.RIGHT)]
        session.close()
        for activation in ACTIVATIONS:
            chosen = replace(config, reward=replace(config.reward, activation=activation))
            figures = _ranked(chosen, answers)
            told = {"session": folder.name, "task": config.task, "activation": activation, **figures}
            print(json.dumps(told), flush=True)


def _ranked(config: Config, answers: list[Preference]) -> dict[str, list[float]]:
    ensemble = build_ensemble(config, CPU)
    assert isinstance(ensemble, RewardEnsemble), "this benchmark needs a task whose observations are numbers"
    fit = RewardTrainer(ensemble, config.reward, generator(config.seed, "ranking"), CPU)
    marks = np.linspace(len(answers) // 4, len(answers), _FITS + 1).astype(int)
    found, known = [], 0
    for now, until in zip(marks[:-1], marks[1:], strict=True):
        for answer in answers[known:now]:
            fit.add(answer)
        for _ in fit.epochs(_LATER if known else _FIRST):
            pass
        found.append(_put_to(ensemble, answers[now:until]))
        known = now
    halves = [half.mean(axis=0).round(3).tolist() for half in np.array_split(np.array(found), 2)]
    return {"ranked_rightly": [half[0] for half in halves], "steps": [half[1] for half in halves]}


def _put_to(ensemble: RewardEnsemble, answers: list[Preference]) -> tuple[float, float]:
    """Returns the share of answers ranked rightly, and the correlation of predicted and true reward over steps."""
    sides = [side for answer in answers for side in (answer.query.left, answer.query.right)]
    raw = ensemble.predict(np.stack([side.observations for side in sides]), np.stack([side.actions for side in sides]))
    predicted = normalize_reward(raw, 1.0)
    true = np.stack([side.true_rewards for side in sides])
    left, right = predicted.sum(1).reshape(-1, 2).T
    chosen = np.array([answer.choice is Choice.LEFT for answer in answers])
    return float(((left > right) == chosen).mean()), float(np.corrcoef(predicted.ravel(), true.ravel())[0, 1])


if __name__ == "__main__":
    main()
