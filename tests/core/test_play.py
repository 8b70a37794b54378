"""The game that a person plays, without a window."""

from __future__ import annotations

import ale_py
import numpy as np
import pytest

from core.config import Config
from core.errors import UserError
from core.events import ControlsHeld, GameShown
from core.jobs.play import PlayJob, action


@pytest.mark.parametrize(
    ("held", "name"),
    [
        (ControlsHeld(), "NOOP"),
        (ControlsHeld(fire=True), "FIRE"),
        (ControlsHeld(up=True, left=True, fire=True), "UPLEFTFIRE"),
        (ControlsHeld(down=True, right=True), "DOWNRIGHT"),
        (ControlsHeld(left=True, right=True, fire=True), "FIRE"),
        (ControlsHeld(up=True, down=True, right=True), "RIGHT"),
    ],
)
def test_controls_are_a_joystick(held: ControlsHeld, name: str) -> None:
    assert action(held) == ale_py.Action.__members__[name]


def test_the_game_is_shown_with_its_score_and_starts_again_when_it_is_over() -> None:
    job = PlayJob(Config(task="breakout"))
    pictures = job.run()
    first = next(pictures)
    assert isinstance(first, GameShown)
    assert first.pixels.shape == (210, 160, 3) and first.lives == 5
    assert first.pixels[5:15, 36:80].any(), "the score is not hidden"
    job.receive(ControlsHeld(fire=True))
    scores, lives = [], []
    for _ in range(1200):
        game = job._shown()
        scores.append(game.score)
        lives.append(game.lives)
    fresh = np.flatnonzero(np.diff(lives) > 0)
    assert fresh.size > 0 and lives[fresh[0] + 1] == 5 and scores[fresh[0] + 1] == 0


def test_a_robot_is_no_game() -> None:
    with pytest.raises(UserError, match="no game"):
        PlayJob(Config(task="hopper"))
