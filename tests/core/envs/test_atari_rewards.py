"""Rewards, scores and failures of Atari games, with emulators that follow a script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ale_py
import numpy as np
import pytest

from core.envs import atari as atari_module
from core.envs import emulators as emulators_module
from core.envs.atari import AtariVectorEnv
from core.envs.base import Step
from core.envs.emulators import EmulatorStep, Rows, Screens
from core.errors import UserError
from core.tasks import get_task

Shot = tuple[list[int], list[int], list[bool]]
"""Points, lives and the end of the game, of each of two games."""


class Scripted:
    """Two emulators whose steps follow a script. `refused`: numbers of the starts that fail, from 1."""

    def __init__(self, script: Iterator[Shot | Exception], refused: tuple[int, ...] = ()) -> None:
        self.count, self.actions = 2, 3
        self.started: list[tuple[int, ...]] = []
        self._script, self._refused = script, refused

    def start(self, rows: Rows, seeds: Rows | None = None) -> Screens:
        self.started.append(tuple(rows.tolist()))
        if len(self.started) in self._refused:
            raise RuntimeError("no start")
        return screens(200, [3, 3])

    def step(self, actions: Rows) -> EmulatorStep:
        shot = next(self._script)
        if isinstance(shot, Exception):
            raise shot
        points, lives, over = shot
        never = np.zeros(2, np.bool_)
        return EmulatorStep(screens(100, lives), np.array(points), np.array(over), never, np.zeros((2, 0), np.uint8))


def screens(shade: int, lives: list[int]) -> Screens:
    return Screens(np.full((2, 84, 84), shade, np.uint8), np.zeros((0, 210, 160, 3), np.uint8), np.array(lives))


def played(
    monkeypatch: pytest.MonkeyPatch, name: str, *script: Shot | Exception, refused: tuple[int, ...] = ()
) -> tuple[AtariVectorEnv, Scripted, list[Step]]:
    fake = Scripted(iter(script), refused)
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


def test_failing_emulators_start_anew_and_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    good, end = ([7, 7], [3, 3], ON), ([1, 1], [3, 0], [False, True])
    env, fake, steps = played(monkeypatch, "seaquest", good, RuntimeError("bad opcode"), end)
    assert env.divergences == 1 and fake.started == [(0, 1), (0, 1), (1,)]
    assert steps[1].true_rewards.tolist() == [0, 0] and steps[1].finished == []
    assert [step.diverged.tolist() for step in steps] == [[False, False], [True, True], [False, False]]
    assert [score for score, _ in steps[2].finished] == [1]  # nothing of the game that was lost


def test_a_game_that_fails_to_start_starts_in_new_emulators_and_the_old_one_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env, fake, (step,) = played(monkeypatch, "seaquest", ([5, 0], [3, 3], [True, False]), refused=(2, 3))
    assert fake.started == [(0, 1), (0,), (0, 1), (0, 1)] and env.divergences == 2
    assert [score for score, _ in step.finished] == [5] and step.true_rewards.tolist() == [0, 0]
    assert step.diverged.tolist() == [False, True]


@pytest.mark.parametrize(
    ("script", "refused", "words"),
    [
        ([RuntimeError("bad opcode")] * 3, (), "bad opcode"),
        ([RuntimeError("bad opcode")], tuple(range(2, 9)), "no start"),
        ([], tuple(range(1, 9)), "no start"),
    ],
)
def test_emulators_that_keep_failing_end_the_session(
    monkeypatch: pytest.MonkeyPatch, script: list[Exception], refused: tuple[int, ...], words: str
) -> None:
    with pytest.raises(UserError, match=f"Seaquest keeps failing: {words}"):
        played(monkeypatch, "seaquest", *script, refused=refused)


class Breakable:
    """An emulator whose calls named in `broken` fail."""

    def __init__(self, game: ale_py.ALEInterface, broken: set[str]) -> None:
        self._game, self.broken = game, broken

    def __getattr__(self, name: str) -> Any:
        if name in self.broken:
            raise RuntimeError("bad opcode")
        return getattr(self._game, name)


GAS = np.eye(9, dtype=np.float32)[[1, 1, 1]]


@pytest.mark.parametrize(
    ("call", "replacements", "failures"), [("act", [], 1), ("getRAM", [], 1), ("act", [{"reset_game"}], 2)]
)
def test_if_it_is_known_which_emulator_failed_the_other_games_continue(
    monkeypatch: pytest.MonkeyPatch, call: str, replacements: list[set[str]], failures: int
) -> None:
    """replacements: calls that fail in the emulators that replace a broken one"""
    games: list[Breakable] = []
    next_broken: list[set[str]] = []
    interface = emulators_module.interface

    def breakable(path: Path) -> Breakable:
        games.append(Breakable(interface(path), next_broken.pop() if next_broken else set()))
        return games[-1]

    monkeypatch.setattr(emulators_module, "interface", breakable)
    task = get_task("enduro-even")
    env, undisturbed = (AtariVectorEnv(task, 3, np.random.default_rng(0), threads=1) for _ in range(2))
    for _ in range(3):
        env.step(GAS), undisturbed.step(GAS)
    seeds = env.get_state()["seeds"].copy()
    games[1].broken.add(call)
    next_broken += replacements
    step, expected = env.step(GAS), undisturbed.step(GAS)
    state = env.get_state()
    assert env.divergences == failures and state["lengths"].tolist() == [4, 0, 4] and step.true_rewards[1] == 0
    assert step.diverged.tolist() == [False, True, False]
    assert (state["seeds"] == seeds).tolist() == [True, False, True]
    for row in (0, 2):
        assert (step.observations[row] == expected.observations[row]).all()
    assert not env.step(GAS).diverged.any()
