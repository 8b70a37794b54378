"""Rewards and scores of Atari games, with scripted emulators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from core.envs import atari as atari_module
from core.envs.atari import AtariVectorEnv
from core.envs.base import Step
from core.envs.emulators import EmulatorStep, Rows, Screens
from core.tasks import get_task

Shot = tuple[list[int], list[int], list[bool]]
"""Points, lives and the end of the game, of each of two games."""


class Scripted:
    """Two emulators whose steps follow a script."""

    def __init__(self, script: Iterator[Shot]) -> None:
        self.count, self.actions = 2, 3
        self.started: list[tuple[int, ...]] = []
        self._script = script

    def start(self, rows: Rows, seeds: Rows | None = None) -> Screens:
        self.started.append(tuple(rows.tolist()))
        return screens(200, [3, 3])

    def step(self, actions: Rows) -> EmulatorStep:
        points, lives, over = next(self._script)
        never = np.zeros(2, np.bool_)
        return EmulatorStep(screens(100, lives), np.array(points), np.array(over), never, np.zeros((2, 0), np.uint8))


def screens(shade: int, lives: list[int]) -> Screens:
    return Screens(np.full((2, 84, 84), shade, np.uint8), np.zeros((0, 210, 160, 3), np.uint8), np.array(lives))


def played(monkeypatch: pytest.MonkeyPatch, name: str, *script: Shot) -> tuple[AtariVectorEnv, Scripted, list[Step]]:
    fake = Scripted(iter(script))
    monkeypatch.setattr(atari_module, "emulators", lambda *_: fake)
    task = get_task(name)
    env = AtariVectorEnv(task, 2, np.random.default_rng(0))
    return env, fake, [env.step(np.eye(3, dtype=np.float32)[[0, 1]]) for _ in script]


ON = [False, False]


@pytest.mark.parametrize(
    ("name", "script", "rewards"),
    [
        ("space-invaders", [([200, 0], [3, 3], ON), ([30, 5], [3, 3], [True, False])], [[1, 0], [0, 1]]),  # clipped
        ("seaquest", [([0, 0], [2, 3], ON), ([0, 0], [2, 0], [False, True])], [[-1, 0], [0, -1]]),  # the last life
        ("breakout", [([0, 0], [0, 3], [True, False]), ([0, 0], [3, 3], ON)], [[-0.1, 0], [0, 0]]),  # then all lives
        ("pong", [([-1, 1], [0, 0], [True, False])], [[-1, 1]]),  # no penalty
    ],
)
def test_points_are_clipped_and_a_lost_life_or_game_costs_the_penalty(
    monkeypatch: pytest.MonkeyPatch, name: str, script: list[Shot], rewards: list[list[float]]
) -> None:
    _, fake, steps = played(monkeypatch, name, *script)
    assert [step.true_rewards.tolist() for step in steps] == [pytest.approx(reward) for reward in rewards]
    assert not any(step.ended.any() for step in steps)
    if name == "space-invaders":  # the score is not clipped
        assert steps[1].finished == [(230, {"score_per_game": 230, "seconds_per_game": pytest.approx(2 / 15)})]
        assert steps[1].finished_rows.tolist() == [0] and fake.started == [(0, 1), (0,)]
