"""Rewards, scores and mishaps of Atari games, with emulators that do what a test tells them to."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
import pytest

from core.envs import atari as atari_module
from core.envs.atari import AtariBatch
from core.envs.base import Step
from core.envs.emulators import Rows, Shot, Views
from core.errors import UserError
from core.tasks import find
from core.tasks.atari import AtariTask

Told = tuple[list[int], list[int], list[bool]]
"""Points, lives and whether the game is over, of each of two games."""


class Scripted:
    """Two emulators, which fail where the script has no more, or an error."""

    def __init__(self, script: Iterator[Told | Exception]) -> None:
        self.count, self.actions = 2, 3
        self.started: list[tuple[int, ...]] = []
        self._script = script

    def start(self, rows: Rows, seeds: Rows | None = None) -> Views:
        self.started.append(tuple(rows.tolist()))
        return views(200, [3, 3])

    def step(self, actions: Rows) -> Shot:
        told = next(self._script)
        if isinstance(told, Exception):
            raise told
        points, lives, over = told
        nothing = np.zeros(2, np.bool_)
        return Shot(views(100, lives), np.array(points), np.array(over), nothing, np.zeros((2, 0), np.uint8))


def views(shade: int, lives: list[int]) -> Views:
    return Views(np.full((2, 84, 84), shade, np.uint8), np.zeros((0, 210, 160, 3), np.uint8), np.array(lives))


def played(
    monkeypatch: pytest.MonkeyPatch, name: str, *script: Told | Exception
) -> tuple[AtariBatch, Scripted, list[Step]]:
    fake = Scripted(iter(script))
    monkeypatch.setattr(atari_module, "emulators", lambda *_: fake)
    task = find(name)
    assert isinstance(task, AtariTask)
    env = AtariBatch(task, 2, np.random.default_rng(0))
    return env, fake, [env.step(np.eye(3, dtype=np.float32)[[0, 1]]) for _ in script]


def test_rewards_are_clipped_and_scores_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    script: list[Told] = [([200, 0], [3, 3], [False, False]), ([30, 5], [3, 3], [True, False])]
    _, _, steps = played(monkeypatch, "space-invaders", *script)
    assert steps[0].true_rewards.tolist() == [1, 0]
    assert steps[1].true_rewards.tolist() == [0, 1]  # a game that ends costs one
    ((score, figures),) = steps[1].finished
    assert score == 230 and figures == {"score_per_game": 230, "seconds_per_game": pytest.approx(2 / 15)}
    assert steps[1].finished_rows.tolist() == [0]


def test_a_lost_life_costs_one_and_the_last_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    script: list[Told] = [([0, 0], [2, 3], [False, False]), ([0, 0], [2, 0], [False, True])]
    _, fake, steps = played(monkeypatch, "seaquest", *script)
    assert [step.true_rewards.tolist() for step in steps] == [[-1, 0], [0, -1]]
    assert fake.started == [(0, 1), (1,)]
    assert not any(step.ended.any() for step in steps)


def test_a_new_game_starts_with_all_its_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    script: list[Told] = [([0, 0], [0, 3], [True, False]), ([0, 0], [3, 3], [False, False])]
    _, _, steps = played(monkeypatch, "breakout", *script)
    assert [step.true_rewards.tolist() for step in steps] == [[-1, 0], [0, 0]]


def test_in_pong_no_end_costs_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, (step,) = played(monkeypatch, "pong", ([-1, 1], [0, 0], [True, False]))
    assert step.true_rewards.tolist() == [-1, 1]
    assert [score for score, _ in step.finished] == [-1]


def test_a_failing_emulator_starts_anew_and_is_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good: Told = ([7, 7], [3, 3], [False, False])
    end: Told = ([1, 1], [3, 0], [False, True])
    with caplog.at_level(logging.CRITICAL):
        env, fake, steps = played(monkeypatch, "seaquest", good, RuntimeError("bad opcode"), end)
    assert env.blow_ups == 1 and fake.started == [(0, 1), (0, 1), (1,)]
    assert steps[1].true_rewards.tolist() == [0, 0] and steps[1].finished == []
    assert [step.blown.tolist() for step in steps] == [[False, False], [True, True], [False, False]]
    assert [score for score, _ in steps[2].finished] == [1]  # nothing of the game that was lost


def test_an_emulator_that_keeps_failing_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [RuntimeError("bad opcode")] * 3
    with caplog.at_level(logging.CRITICAL), pytest.raises(UserError, match="Seaquest keeps failing: bad opcode"):
        played(monkeypatch, "seaquest", *failures)
