"""Rewards, scores and mishaps of Atari games, with emulators that do what a test tells them to."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import ale_py
import numpy as np
import pytest

from core.envs import atari as atari_module
from core.envs.atari import AtariVectorEnv
from core.envs.base import Step
from core.envs.emulators import EmulatorStep, Rows, Screens
from core.errors import UserError
from core.tasks import get_task
from core.tasks.atari import AtariTask

Told = tuple[list[int], list[int], list[bool]]
"""Points, lives and whether the game is over, of each of two games."""


class Scripted:
    """Two emulators, which fail where the script has no more, or an error."""

    def __init__(self, script: Iterator[Told | Exception], refused: tuple[int, ...] = ()) -> None:
        self.count, self.actions = 2, 3
        self.started: list[tuple[int, ...]] = []
        self.refused = refused
        """Which of the starts fail, counted from 1."""
        self._script = script

    def start(self, rows: Rows, seeds: Rows | None = None) -> Screens:
        self.started.append(tuple(rows.tolist()))
        if self.refused and len(self.started) in self.refused:
            raise RuntimeError("no start")
        return views(200, [3, 3])

    def begin(self, actions: Rows) -> None: ...

    def step(self, actions: Rows) -> EmulatorStep:
        told = next(self._script)
        if isinstance(told, Exception):
            raise told
        points, lives, over = told
        nothing = np.zeros(2, np.bool_)
        return EmulatorStep(views(100, lives), np.array(points), np.array(over), nothing, np.zeros((2, 0), np.uint8))


def views(shade: int, lives: list[int]) -> Screens:
    return Screens(np.full((2, 84, 84), shade, np.uint8), np.zeros((0, 210, 160, 3), np.uint8), np.array(lives))


def played(
    monkeypatch: pytest.MonkeyPatch, name: str, *script: Told | Exception, refused: tuple[int, ...] = ()
) -> tuple[AtariVectorEnv, Scripted, list[Step]]:
    fake = Scripted(iter(script), refused)
    monkeypatch.setattr(atari_module, "emulators", lambda *_: fake)
    task = get_task(name)
    assert isinstance(task, AtariTask)
    env = AtariVectorEnv(task, 2, np.random.default_rng(0))
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
    assert [step.true_rewards.tolist() for step in steps] == [[pytest.approx(-0.1), 0], [0, 0]]


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
    assert env.divergences == 1 and fake.started == [(0, 1), (0, 1), (1,)]
    assert steps[1].true_rewards.tolist() == [0, 0] and steps[1].finished == []
    assert [step.diverged.tolist() for step in steps] == [[False, False], [True, True], [False, False]]
    assert [score for score, _ in steps[2].finished] == [1]  # nothing of the game that was lost


def test_an_emulator_that_keeps_failing_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [RuntimeError("bad opcode")] * 3
    with caplog.at_level(logging.CRITICAL), pytest.raises(UserError, match="Seaquest keeps failing: bad opcode"):
        played(monkeypatch, "seaquest", *failures)


def test_a_new_game_that_fails_to_start_starts_in_new_emulators_and_the_old_one_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    end: Told = ([5, 0], [3, 3], [True, False])
    with caplog.at_level(logging.CRITICAL):
        env, fake, (step,) = played(monkeypatch, "seaquest", end, refused=(2, 3))
    assert fake.started == [(0, 1), (0,), (0, 1), (0, 1)] and env.divergences == 2
    assert [score for score, _ in step.finished] == [5] and step.true_rewards.tolist() == [0, 0]
    assert env._lengths.tolist() == [0, 0] and step.diverged.tolist() == [False, True]


def test_new_games_that_never_start_are_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL), pytest.raises(UserError, match="Seaquest keeps failing: no start"):
        played(monkeypatch, "seaquest", RuntimeError("bad opcode"), refused=tuple(range(2, 9)))
    with caplog.at_level(logging.CRITICAL), pytest.raises(UserError, match="Seaquest keeps failing: no start"):
        played(monkeypatch, "seaquest", refused=tuple(range(1, 9)))


class Failing:
    """An emulator that fails in its next call of one kind."""

    def __init__(self, game: ale_py.ALEInterface, call: str) -> None:
        self._game, self._call = game, call

    def __getattr__(self, name: str) -> Any:
        if name == self._call:
            raise RuntimeError("bad opcode")
        return getattr(self._game, name)


@pytest.mark.parametrize("call", ["act", "getRAM"])
def test_where_it_is_known_which_has_failed_the_other_games_go_on(caplog: pytest.LogCaptureFixture, call: str) -> None:
    env, undisturbed = even_batch(), even_batch()
    gas = np.eye(9, dtype=np.float32)[[1, 1, 1]]
    for _ in range(3):
        env.step(gas), undisturbed.step(gas)
    seeds = env._seeds.copy()
    env._emulators._games[1] = Failing(env._emulators._games[1], call)  # type: ignore[attr-defined]
    with caplog.at_level(logging.CRITICAL):
        step = env.step(gas)
    expected = undisturbed.step(gas)
    assert env.divergences == 1 and env._lengths.tolist() == [4, 0, 4] and step.true_rewards[1] == 0
    assert step.diverged.tolist() == [False, True, False]
    for row in (0, 2):
        assert (step.observations[row] == expected.observations[row]).all() and env._seeds[row] == seeds[row]
    assert env._seeds[1] != seeds[1] and env._failed.tolist() == [0, 1, 0]
    env.step(gas)
    assert env._failed.tolist() == [0, 0, 0]


def test_an_emulator_that_fails_to_start_a_game_gives_way_to_a_new_one_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = even_batch()
    env.step(np.eye(9, dtype=np.float32)[[1, 1, 1]])
    env._emulators._games[2] = Failing(env._emulators._games[2], "reset_game")  # type: ignore[attr-defined]
    with caplog.at_level(logging.CRITICAL):
        env._new_games(np.array([2]))
    assert env.divergences == 1 and env._lengths.tolist() == [1, 1, 0]
    env.step(np.eye(9, dtype=np.float32)[[1, 1, 1]])
    assert env._lengths.tolist() == [2, 2, 1]


def even_batch() -> AtariVectorEnv:
    task = get_task("enduro-even")
    assert isinstance(task, AtariTask)
    return AtariVectorEnv(task, 3, np.random.default_rng(0), threads=1)
