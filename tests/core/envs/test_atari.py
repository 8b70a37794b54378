"""Atari games compared with a slow reference of single emulators, on real frames of every game."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import ale_py
import cv2
import numpy as np
import pytest
from ale_py import roms

from core.envs import emulators
from core.envs.atari import AtariVectorEnv
from core.envs.base import CaptureSchedule, Step
from core.envs.renderer import renderer_for
from core.errors import UserError
from core.rollout.episodes import run_episodes
from core.tasks import get_task
from core.tasks.atari import GAMES, AtariTask
from core.types import Float32

SCORES = {
    "beam-rider": (9, 10, 11),
    "enduro": (39, 40, 41, 42, 43, 44, 45),
    "pong": (69, 71, 73, 75),
    "qbert": (89, 90, 91),
    "seaquest": (56, 57, 58),
    "space-invaders": (102, 103, 104, 105),
}
"""Addresses of the digits of the score, and of Enduro's speedometer, day and cars to pass.

Breakout's are left out: changing them changes the playfield."""


def make(name: str, count: int, seed: int = 0, threads: int = 1, captured: int = 0, one_in: int = 1) -> AtariVectorEnv:
    capture = CaptureSchedule(captured, 25, one_in) if captured else None
    return AtariVectorEnv(get_task(name), count, np.random.default_rng(seed), threads, capture)


def interface(task: AtariTask) -> ale_py.ALEInterface:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    game = ale_py.ALEInterface()
    game.setFloat("repeat_action_probability", 0.0)
    game.loadROM(roms.get_rom_path(task.game))
    return game


def one_hot(choices: np.ndarray, actions: int) -> Float32:
    return np.eye(actions, dtype=np.float32)[choices]


def play_randomly(env: AtariVectorEnv, steps: int, seed: int = 0) -> Iterator[Step]:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        yield env.step(one_hot(rng.integers(env.sizes[1], size=env.count), env.sizes[1]))


def reference(task: AtariTask, game: ale_py.ALEInterface, no_ops: int, choices: list[int]) -> Iterator[np.ndarray]:
    """Yield (4, 84, 84) at the start and after each choice, from the wrappers of A.2 in sequence over one emulator."""
    actions = game.getMinimalActionSet()
    for _ in range(no_ops):
        game.act(ale_py.Action.NOOP)
    stack = [small(task, game.getScreenGrayscale())] * 4
    yield np.stack(stack)
    for choice in choices:
        frames = []
        for _ in range(4):
            game.act(actions[choice])
            frames.append(game.getScreenGrayscale())
        stack = [*stack[1:], small(task, np.maximum(frames[-2], frames[-1]))]
        yield np.stack(stack)


def small(task: AtariTask, picture: np.ndarray) -> np.ndarray:
    image = cv2.resize(picture, (84, 84), interpolation=cv2.INTER_AREA)
    image[blanked_small(task.name)] = 0
    return image


@cache
def blanked_small(name: str) -> np.ndarray:
    """Return (84, 84): pixels of the small picture that cover any blanked pixel of the screen."""
    inside = np.zeros((84, 84), np.bool_)
    for row, column in np.ndindex(84, 84):
        top, left = row * 2.5, column * 160 / 84
        for box in get_task(name).blanked:
            across = left < box.right and left + 160 / 84 > box.left
            inside[row, column] |= top < box.bottom and top + 2.5 > box.top and across
    return inside


def blanked(task: AtariTask) -> np.ndarray:
    inside = np.zeros((210, 160), np.bool_)
    for box in task.blanked:
        inside[box.top : box.bottom, box.left : box.right] = True
    return inside


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["pong", "enduro-even"])
def test_observations_are_those_of_a_slow_reference_bit_for_bit(name: str) -> None:
    """One game runs without the console's memory and one with it, in different emulators."""
    task, steps = get_task(name), 60
    env = make(name, 2, seed=7)
    choices = np.random.default_rng(1).integers(env.sizes[1], size=(steps, 2))
    shown = [env.observations]
    for row in choices:
        step = env.step(one_hot(row, env.sizes[1]))
        assert not step.finished, "the reference plays one game"
        shown.append(step.observations)
    assert shown[0].shape == (2, 28_224) and shown[0].dtype == np.uint8
    game = interface(task)
    fresh = game.cloneState()
    for index in range(2):
        stacks = np.stack([observations[index].reshape(4, 84, 84) for observations in shown])
        matches = 0
        for no_ops in range(31):  # a game waits for 0 to 30 frames before the first action
            game.restoreState(fresh)
            expected = reference(task, game, no_ops, list(choices[:, index]))
            matches += all((one == other).all() for one, other in zip(expected, stacks, strict=True))
        assert matches >= 1


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, id=task.name, marks=[pytest.mark.slow] * (task.name not in ("enduro", "pong")))
        for task in GAMES
    ],
)
def test_only_the_score_is_blanked(task: AtariTask) -> None:
    env = make(task.name, 1, seed=3, captured=1)
    raw = emulators.emulators(task, 1, 1, in_colour=1)
    raw.start(np.array([0]), env.get_state()["seeds"])
    inside = blanked(task)
    rng = np.random.default_rng(0)
    drawn_inside = np.zeros_like(inside)
    with closing(renderer_for(task)) as renderer:
        for _ in range(40):
            choice = rng.integers(env.sizes[1], size=1)
            assert not env.step(one_hot(choice, env.sizes[1])).finished
            pixels = raw.step(choice).views.colour[0]
            shown = renderer.render(env.states, 210, 15.0).pixels[0][:, 25:185]
            assert (shown[~inside] == pixels[~inside]).all()
            assert (shown[inside] == 0).all()
            drawn_inside |= pixels.any(-1)
    assert drawn_inside[inside].any()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", SCORES)
def test_all_digits_of_a_score_are_blanked(name: str) -> None:
    game, inside = interface(get_task(name)), blanked(get_task(name))
    rng, actions = np.random.default_rng(0), game.getMinimalActionSet()
    for choice in rng.integers(len(actions), size=300):
        game.act(actions[choice])
    state = game.cloneState()

    def frames() -> np.ndarray:
        return np.stack([(game.act(ale_py.Action.NOOP), game.getScreenRGB())[1] for _ in range(12)])

    plain = frames()
    for address in SCORES[name]:
        changed = np.zeros((210, 160), np.bool_)
        for value in (0x11, 0x25, 0x88, 0x99):
            game.restoreState(state)
            game.setRAM(address, value)
            changed |= (frames() != plain).any(axis=(0, 3))
        assert changed.any() and not changed[~inside].any()


def test_a_clip_is_25_steps_in_colour_at_15_fps() -> None:
    task, env = get_task("enduro-even"), make("enduro-even", 2, captured=2)
    assert (task.segment_steps, task.step_seconds) == (25, pytest.approx(1 / 15))
    states = [env.states[1]] + [env.states[1] for _ in play_randomly(env, 24)]
    with closing(renderer_for(task)) as renderer:
        clip, shown = (draw(np.stack(states), 420, 15.0) for draw in (renderer.render, renderer.clip))
    assert shown.pixels.shape == (25, 420, 320, 3)  # black margins removed
    assert np.array_equal(shown.pixels, clip.pixels[:, :, 50:370])
    assert clip.pixels.shape == (25, 420, 420, 3)
    assert not clip.pixels[:, :, :50].any() and not clip.pixels[:, :, 370:].any()
    assert len({frame.tobytes() for frame in clip.pixels}) > 1
    assert np.ptp(clip.pixels.astype(int), axis=-1).max() > 50  # colours, not shades of grey


@pytest.mark.slow
def test_the_end_of_a_game_is_not_visible_to_the_learner() -> None:
    env, task = make("breakout", 4), get_task("breakout")
    opening = small(task, interface(task).getScreenGrayscale())  # the picture is still until the ball is served
    finished, before = 0, env.observations
    for step in play_randomly(env, 250):
        assert not step.ended.any() and len(step.end_observations) == 0
        old, new = (o.reshape(4, 4, 84, 84) for o in (before, step.observations))
        assert (new[:, :3] == old[:, 1:]).all()
        finished += len(step.finished)
        for row, (score, figures) in zip(step.finished_rows, step.finished, strict=True):
            assert score == figures["score_per_game"] >= 0
            assert (new[row, 3] == opening).all()
        before = step.observations
    assert finished > 1


@pytest.mark.slow
def test_a_resumed_batch_continues_exactly() -> None:
    rng, other_rng = np.random.default_rng(0), np.random.default_rng(9)
    capture = CaptureSchedule(2, 25, 2)
    first = AtariVectorEnv(get_task("breakout"), 2, rng, threads=1, capture=capture)
    assert sum(len(step.finished) for step in play_randomly(first, 240)) > 0
    kept = {name: array.copy() for name, array in first.get_state().items()}
    other = AtariVectorEnv(get_task("breakout"), 2, other_rng, threads=2, capture=capture)
    other.set_state(kept)
    other_rng.bit_generator.state = rng.bit_generator.state
    assert (other.states == first.states).all() and (other.observations == first.observations).all()
    finished = 0
    for one, two in zip(play_randomly(first, 150, seed=5), play_randomly(other, 150, seed=5), strict=True):
        assert (one.observations == two.observations).all() and (one.true_rewards == two.true_rewards).all()
        assert one.finished == two.finished
        finished += len(one.finished)
    assert finished > 0


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("speed", "rewards", "points"),
    [
        (24, (0.8, 1.0), (0, 1)),  # the traffic's pace
        (120, (-1.0, 0.4), (6, 1000)),  # driving off
        (0, (-1.0, 0.1), (0, 0)),  # being passed, which the game does not score
    ],
)
def test_even_mode_rewards_only_keeping_pace_with_the_traffic(
    monkeypatch: pytest.MonkeyPatch, speed: int, rewards: tuple[float, float], points: tuple[int, int]
) -> None:
    """The car keeps a speed read from the console's memory; the first 60 steps accelerate it."""
    steps: list[emulators.EmulatorStep] = []
    raw_step = emulators.InterfaceEmulators.step

    def noting(self: emulators.InterfaceEmulators, chosen: np.ndarray) -> emulators.EmulatorStep:
        steps.append(raw_step(self, chosen))
        return steps[-1]

    monkeypatch.setattr(emulators.InterfaceEmulators, "step", noting)
    env, gas, brake, nothing = make("enduro-even", 1, seed=2), 1, 4, 0
    paid, speed_now = [], 0
    for _ in range(240):
        choice = gas if speed_now < speed else brake if speed_now > speed + 1 else nothing
        paid.append(float(env.step(one_hot(np.array([choice]), 9)).true_rewards[0]))
        speed_now = int(steps[-1].memory[0, 22])
    assert rewards[0] <= np.mean(paid[60:]) <= rewards[1]
    assert points[0] <= sum(abs(int(step.points[0])) for step in steps[60:]) <= points[1]


@pytest.mark.parametrize("content", [None, b"no game"])
def test_a_missing_or_damaged_game_is_reported_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    if content:
        (tmp_path / "qbert.bin").write_bytes(content)
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(UserError, match=r"^Q\*bert needs the file qbert.bin, which the package ale-py includes"):
        make("qbert", 2)


@pytest.mark.slow
def test_each_environment_contributes_one_episode_of_any_length() -> None:
    env = make("breakout", 4, threads=2)
    rng, acted = np.random.default_rng(0), 0

    def act(observations: np.ndarray) -> tuple[Float32, Float32]:
        nonlocal acted
        acted += 1
        return one_hot(rng.integers(4, size=4), 4), np.zeros(4, np.float32)

    finished, states = run_episodes(env, act, 1, 4500)
    assert len(finished) == 4 and len(states) == 0
    assert max(figures["seconds_per_game"] for _, figures in finished) == pytest.approx(acted / 15)
