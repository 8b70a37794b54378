"""The job that runs a game for a person to play, without a window."""

from __future__ import annotations

import ale_py
import numpy as np
import pytest

from core.config import Config
from core.jobs.play import PlayJob, action
from core.service_events import ControlsHeld
from core.tasks.atari import GAMES, AtariTask

KEYS = {"←": "left", "→": "right", "↑": "up", "↓": "down", "Space": "fire"}
"""As a game's controls name them -> as ControlsHeld does."""


@pytest.mark.parametrize(
    ("held", "name"),
    [
        (ControlsHeld(), "NOOP"),
        (ControlsHeld(up=True, left=True, fire=True), "UPLEFTFIRE"),
        (ControlsHeld(down=True, right=True), "DOWNRIGHT"),
        (ControlsHeld(left=True, right=True, fire=True), "FIRE"),
        (ControlsHeld(up=True, down=True, right=True), "RIGHT"),
    ],
)
def test_controls_are_a_joystick(held: ControlsHeld, name: str) -> None:
    assert action(held) == ale_py.Action.__members__[name]


QUICK = ("pong", "breakout", "beam-rider")


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "task", [pytest.param(task, id=task.name, marks=[pytest.mark.slow] * (task.name not in QUICK)) for task in GAMES]
)
def test_only_the_named_keys_change_the_game(task: AtariTask) -> None:
    job = PlayJob(Config(task=task.name))
    rng = np.random.default_rng(0)
    works: set[str] = set()
    for moment in range(30):
        hold(job, {str(rng.choice([*KEYS.values()])): True}, shown=10)
        if moment > 5:  # earlier, any key may start the game
            works |= {key for key in KEYS.values() if changes(job, key)}
    named = {key for symbol, key in KEYS.items() if symbol in task.controls}
    assert works == named - ({"fire"} if task.name == "pong" else set())  # tested separately below


def changes(job: PlayJob, key: str) -> bool:
    """Return whether the next 20 frames look different with this key than without; restore the game afterwards."""
    before = job.game.cloneState()
    seen = []
    for held in ({}, {key: True}):
        seen.append(hold(job, held, shown=10))
        job.game.restoreState(before)
    return bool((seen[0] != seen[1]).any())


def hold(job: PlayJob, held: dict[str, bool], shown: int) -> np.ndarray:
    job.receive(ControlsHeld(**held))
    return np.stack([job.next_picture().pixels for _ in range(shown)])


def test_the_game_is_shown_with_its_score_and_starts_again_when_it_is_over() -> None:
    job = PlayJob(Config(task="breakout"))
    assert job.game.getInt("max_num_frames_per_episode") == 0  # a good player is not stopped after five minutes
    pictures = job.run()
    first = next(pictures)
    assert first.pixels.shape == (210, 160, 3) and first.lives == 5
    assert first.pixels[5:15, 36:80].any(), "the score is not hidden"
    job.receive(ControlsHeld(fire=True))
    scores, lives = [], []
    for _ in range(1200):
        game = job.next_picture()
        scores.append(game.score)
        lives.append(game.lives)
    fresh = np.flatnonzero(np.diff(lives) > 0)
    assert fresh.size > 0 and lives[fresh[0] + 1] == 5 and scores[fresh[0] + 1] == 0
