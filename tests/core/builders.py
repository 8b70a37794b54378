"""Small synthetic records, and the smallest behaviour and config that still exercise everything."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

import numpy as np

from core.config import Config, replaced
from core.events import JobState
from core.session.session import Session
from core.types import Choice, Preference, Query, Segment

OBSERVED, ACTED, STATE = 16, 3, 13
"""Sizes of the Hopper's observation, action and simulator state."""


BEHAVIOUR: dict[str, Any] = {
    "name": "kneel",
    "robot": "walker",
    "title": "Walker: kneeling",
    "instruction": "Choose the clip in which the robot kneels more steadily.",
    "clip_seconds": 1.5,
}
"""Fields that a behaviour file must have."""
QUICK = {
    "rollout.environments": 8,
    "rollout.steps": 32,
    "rollout.threads": 1,
    "reward.hidden": 16,
    "reward.epochs_first": 3,
    "reward.epochs": 1,
    "policy.hidden": 16,
    "policy.epochs": 1,
    "policy.minibatch": 128,
}
"""Settings of a session of a second or two."""
SETTINGS = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]
"""The same as words of a command."""
STATES = {"policy": JobState({"x": np.ones(4, np.float32)}, {"n": 1})}
"""States of the jobs, as a checkpoint keeps them."""


def tiny(**changes: object) -> Config:
    """Return the config of a session of a second or two: 8 robots, 32 steps a batch, 24 batches, 12 labels."""
    small: dict[str, object] = {
        "labels": 12,
        "steps": 8 * 32 * 24,
        "rollout__environments": 8,
        "rollout__steps": 32,
        "rollout__threads": 1,
        "reward__members": 3,
        "reward__hidden": 16,
        "reward__epochs_first": 5,
        "reward__epochs": 1,
        "policy__hidden": 16,
        "policy__epochs": 2,
        "policy__minibatch": 128,
        "query__selection": "disagreement",
        "query__first_share": 0.25,
    }
    return replaced(Config(), **{**small, **changes})


def segment(number: int, steps: int = 5, rewards: list[float] | None = None) -> Segment:
    """Return a segment of random numbers that depend only on `number`; `rewards` are its true rewards."""
    rng = np.random.default_rng(number)
    observations = rng.standard_normal((steps, OBSERVED)).astype(np.float32)
    actions = rng.uniform(-1, 1, (steps, ACTED)).astype(np.float32)
    true_rewards = None if rewards is None else np.array(rewards, np.float32)
    return Segment(number, observations, actions, rng.standard_normal((steps, STATE)), true_rewards, 100 * number)


def query(number: int, left: Segment | None = None, right: Segment | None = None, disagreement: float = 0.5) -> Query:
    return Query(number, left or segment(2 * number), right or segment(2 * number + 1), disagreement)


def preference(number: int, choice: Choice = Choice.LEFT, pair: Query | None = None) -> Preference:
    return Preference(number, pair or query(number), choice, "oracle", 0.0)


Arrays = dict[str, np.ndarray]


def packed(session: Session, target: Path) -> None:
    """Write the session to a file like an export, but without checking its answers."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("somersault.json", '{"format": 2}')
        for path in (session.folder / "config.json", *(session.folder / "preferences").iterdir()):
            archive.write(path, path.relative_to(session.folder).as_posix())


def saved_state(made: Any) -> Arrays:
    """Return a copy of the state of a trainer or optimizer, independent of later training."""
    return {name: np.array(array) for name, array in made.get_state().items()}


def same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def raising(error: Exception) -> Callable[..., Never]:
    """Return a function that raises this error for any arguments."""

    def fail(*_: Any, **__: Any) -> Never:
        raise error

    return fail


def one_sentence(error: Exception) -> str:
    """Return the text of an error, which must be one sentence for the user."""
    text = str(error)
    assert "\n" not in text and text.endswith((".", "?"))
    return text
