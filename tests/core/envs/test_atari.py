"""Atari games against a slow reference made of single emulators, on real frames of every game."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import ale_py
import cv2
import numpy as np
import pytest
from ale_py import roms

from core.envs import emulators, make_envs
from core.envs.atari import AtariVectorEnv
from core.envs.base import CaptureSchedule, Step
from core.envs.renderer import renderer_for
from core.errors import UserError
from core.io import image_codec
from core.rollout.episodes import run_episodes
from core.tasks import CATALOGUE, PAPER_GAMES, get_task
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
"""Where in the console's memory are the digits of the score, and of Enduro's speedometer, day and cars to pass.

Breakout keeps its own where the bricks are counted too, so that changing it changes the playfield."""


def atari(name: str) -> AtariTask:
    task = get_task(name)
    assert isinstance(task, AtariTask)
    return task


def interface(task: AtariTask) -> ale_py.ALEInterface:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    game = ale_py.ALEInterface()
    game.setFloat("repeat_action_probability", 0.0)
    game.loadROM(roms.get_rom_path(task.game))
    return game


def one_hot(choices: np.ndarray, actions: int) -> Float32:
    return np.eye(actions, dtype=np.float32)[choices]


def at_random(env: AtariVectorEnv, steps: int, seed: int = 0) -> Iterator[Step]:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        yield env.step(one_hot(rng.integers(env.sizes[1], size=env.count), env.sizes[1]))


def reference(task: AtariTask, game: ale_py.ALEInterface, no_ops: int, choices: list[int]) -> Iterator[np.ndarray]:
    """The wrappers of A.2 one after the other over one emulator: (4, 84, 84) at the start and after each choice."""
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
    seen = cv2.resize(picture, (84, 84), interpolation=cv2.INTER_AREA)
    seen[blanked_small(task.name)] = 0
    return seen


@cache
def blanked_small(name: str) -> np.ndarray:
    """(84, 84) where any of the screen's pixels that one of the small picture stands for is blanked."""
    inside = np.zeros((84, 84), np.bool_)
    for row, column in np.ndindex(84, 84):
        top, left = row * 2.5, column * 160 / 84
        for box in atari(name).blanked:
            across = left < box.right and left + 160 / 84 > box.left
            inside[row, column] |= top < box.bottom and top + 2.5 > box.top and across
    return inside


@pytest.mark.parametrize("name", ["pong", "space-invaders", "enduro-even"])
def test_the_wrappers_are_those_of_a_slow_reference_bit_for_bit(name: str) -> None:
    task, steps = atari(name), 150
    env = AtariVectorEnv(task, 2, np.random.default_rng(7), threads=2)
    choices = np.random.default_rng(1).integers(env.sizes[1], size=(steps, 2))
    shown = [env.observations]
    for row in choices:
        step = env.step(one_hot(row, env.sizes[1]))
        assert not step.finished, "the reference plays one game"
        shown.append(step.observations)
    assert shown[0].shape == (2, 28_224) and shown[0].dtype == np.uint8
    game = interface(task)
    fresh = game.cloneState()

    def begun_again() -> ale_py.ALEInterface:
        game.restoreState(fresh)
        return game

    for index in range(2):
        stacks = np.stack([observations[index].reshape(4, 84, 84) for observations in shown])
        assert any(same(reference(task, begun_again(), k, list(choices[:, index])), stacks) for k in range(31))


def same(ours: Iterator[np.ndarray], theirs: np.ndarray) -> bool:
    """As long as theirs; looks no further than the first difference."""
    return all((one == other).all() for one, other in zip(ours, theirs, strict=True))


def test_a_new_game_begins_after_none_to_thirty_frames_without_an_action() -> None:
    raw = emulators.VectorEmulators("pong", 8, threads=1)
    waited: set[int] = set()
    for turn in range(40):  # from a seed, as 320 draws of 31 miss one in every thousandth run
        _, told = raw._games.reset(seed=None if turn else 0)
        waited |= set(told["episode_frame_number"].tolist())
    assert waited == set(range(31))


@pytest.mark.parametrize("task", GAMES, ids=[task.name for task in GAMES])
def test_the_score_is_black_and_all_else_as_the_emulator_draws_it(task: AtariTask) -> None:
    env = AtariVectorEnv(task, 1, np.random.default_rng(3), threads=1, film=CaptureSchedule(1, 25))
    raw = emulators.emulators(task, 1, 1, in_colour=1)
    raw.start(np.array([0]), env._seeds)
    inside = blanked(task)
    rng = np.random.default_rng(0)
    seen_inside = np.zeros_like(inside)
    with renderer_for(task) as renderer:
        for _ in range(60):
            choice = rng.integers(env.sizes[1], size=1)
            assert not env.step(one_hot(choice, env.sizes[1])).finished
            pixels = raw.step(choice).views.colour[0]
            shown = renderer.render(env.states, 210, 15.0).pixels[0][:, 25:185]
            assert (shown[~inside] == pixels[~inside]).all()
            assert (shown[inside] == 0).all()
            seen_inside |= pixels.any(-1)
    assert seen_inside[inside].any()


def blanked(task: AtariTask) -> np.ndarray:
    inside = np.zeros((210, 160), np.bool_)
    for box in task.blanked:
        inside[box.top : box.bottom, box.left : box.right] = True
    return inside


@pytest.mark.parametrize("name", SCORES)
def test_whatever_the_score_its_digits_are_within_what_is_blanked(name: str) -> None:
    task = atari(name)
    game, inside = interface(task), blanked(atari(name))
    rng, actions = np.random.default_rng(0), game.getMinimalActionSet()
    for choice in rng.integers(len(actions), size=300):
        game.act(actions[choice])
    state = game.cloneState()
    plain = following(game)
    for address in SCORES[name]:
        changed = np.zeros((210, 160), np.bool_)
        for value in (0x11, 0x25, 0x88, 0x99):
            game.restoreState(state)
            game.setRAM(address, value)
            changed |= (following(game) != plain).any(axis=(0, 3))
        assert changed.any() and not changed[~inside].any()


def following(game: ale_py.ALEInterface) -> np.ndarray:
    frames = []
    for _ in range(12):
        game.act(ale_py.Action.NOOP)
        frames.append(game.getScreenRGB())
    return np.stack(frames)


@pytest.mark.parametrize("name", ["breakout", "beam-rider"])
def test_what_is_scored_changes_the_screen_within_what_is_blanked(name: str) -> None:
    """On Beam Rider both boxes: the score's and that of the enemy ships that are left."""
    task = atari(name)
    raw = emulators.emulators(task, 4, 2, in_colour=4)
    pixels = raw.start(np.arange(4), np.arange(4)).colour
    rng, before, changed = np.random.default_rng(0), pixels.copy(), [0] * len(task.blanked)
    scored = 0
    for _ in range(250):
        shot = raw.step(rng.integers(raw.actions, size=4))
        for row in np.flatnonzero(shot.points):
            scored += 1
            for number, box in enumerate(task.blanked):
                one, other = (p[row, box.top : box.bottom, box.left : box.right] for p in (before, shot.views.colour))
                changed[number] += bool((one != other).any())
        before = shot.views.colour.copy()
    assert scored > 0 and min(changed) > 0


@pytest.mark.parametrize("name", ["beam-rider", "enduro-even"])
def test_a_clip_is_25_steps_in_colour_at_15_fps(name: str) -> None:
    task = atari(name)
    assert (task.segment_steps, task.step_seconds) == (25, pytest.approx(1 / 15))
    env = AtariVectorEnv(task, 2, np.random.default_rng(0), threads=1, film=CaptureSchedule(2, 25))
    states = [env.states[1]] + [env.states[1] for _ in at_random(env, 24)]
    with renderer_for(task) as renderer:
        clip = renderer.render(np.stack(states), 420, 15.0)
    assert clip.pixels.shape == (25, 420, 420, 3)
    assert not clip.pixels[:, :, :50].any() and not clip.pixels[:, :, 370:].any()
    assert len({frame.tobytes() for frame in clip.pixels}) > 1
    assert np.ptp(clip.pixels.astype(int), axis=-1).max() > 50  # colours, not shades of gray


def test_the_colours_of_a_clip_are_the_games() -> None:
    env = AtariVectorEnv(atari("pong"), 1, np.random.default_rng(0), threads=1, film=CaptureSchedule(1, 25))
    with renderer_for(atari("pong")) as renderer:
        picture = renderer.render(env.states, 420, 15.0).pixels[0]
    assert picture[210, 200].tolist() == [144, 72, 17]
    assert picture[56, 200].tolist() == [236, 236, 236]


def test_nothing_is_filmed_unless_asked_for() -> None:
    env = AtariVectorEnv(atari("pong"), 2, np.random.default_rng(0), threads=1)
    assert env.sizes == (28_224, 6, 0) and env.discrete and env.clip_available.all()


@pytest.mark.parametrize(
    ("name", "actions"),
    [("pong", 6), ("breakout", 4), ("enduro", 9), ("seaquest", 18), ("space-invaders", 6), ("qbert", 6)],
)
def test_a_game_has_its_smallest_set_of_actions(name: str, actions: int) -> None:
    assert make_envs(get_task(name), 1, np.random.default_rng(0)).sizes[1] == actions


def test_a_game_that_ends_goes_over_into_the_next_without_a_sign() -> None:
    env = AtariVectorEnv(atari("breakout"), 4, np.random.default_rng(0), threads=2)
    finished = 0
    before = env.observations
    for step in at_random(env, 250):
        assert not step.ended.any() and len(step.end_observations) == 0
        old, new = (o.reshape(4, 4, 84, 84) for o in (before, step.observations))
        assert (new[:, :3] == old[:, 1:]).all()
        finished += len(step.finished)
        for row, (score, figures) in zip(step.finished_rows, step.finished, strict=True):
            assert score == figures["score_per_game"] >= 0
            assert (new[row, 3] == opening()).all()  # the next game's first picture, whatever frames it waited
        before = step.observations
    assert finished > 1


def opening() -> np.ndarray:
    """Nothing moves in Breakout before the ball is served."""
    return small(atari("breakout"), interface(atari("breakout")).getScreenGrayscale())


def test_a_resumed_batch_goes_on_exactly() -> None:
    task = atari("breakout")
    first = AtariVectorEnv(task, 4, np.random.default_rng(0), threads=1, film=CaptureSchedule(4, 25, 2))
    assert sum(len(step.finished) for step in at_random(first, 240)) > 0
    kept = {name: array.copy() for name, array in first.get_state().items()}
    generator = np.random.default_rng()
    generator.bit_generator.state = first._rng.bit_generator.state
    other = AtariVectorEnv(task, 4, np.random.default_rng(9), threads=2, film=CaptureSchedule(4, 25, 2))
    other.set_state(kept)
    other._rng = generator
    assert (other.states == first.states).all() and (other.observations == first.observations).all()
    finished = 0
    for one, two in zip(at_random(first, 150, seed=5), at_random(other, 150, seed=5), strict=True):
        assert (one.observations == two.observations).all() and (one.true_rewards == two.true_rewards).all()
        assert one.finished == two.finished
        finished += len(one.finished)
    assert finished > 0


def test_another_games_state_is_refused() -> None:
    env = AtariVectorEnv(atari("pong"), 2, np.random.default_rng(0), threads=1)
    with pytest.raises(ValueError):
        AtariVectorEnv(atari("pong"), 3, np.random.default_rng(0), threads=1).set_state(env.get_state())


def drive(env: AtariVectorEnv, speed: int, steps: int) -> tuple[Float32, np.ndarray]:
    """Enduro at that speed on every car: (steps, N) true rewards and points."""
    rewards, points = [], []
    raw = env._emulators
    scored = raw.step
    actions = env.sizes[1]
    gas, brake, nothing = 1, 4, 0
    speeds = np.zeros(env.count, np.int64)
    for _ in range(steps):
        choice = np.where(speeds < speed, gas, np.where(speeds > speed + 1, brake, nothing))
        shots = []

        def noting(chosen: np.ndarray, taken: list[emulators.EmulatorStep] = shots) -> emulators.EmulatorStep:
            taken.append(scored(chosen))
            return taken[-1]

        raw.step = noting  # type: ignore[method-assign]
        rewards.append(env.step(one_hot(choice, actions)).true_rewards)
        speeds = shots[0].memory[:, 22].astype(np.int64)
        points.append(shots[0].points)
    return np.stack(rewards), np.stack(points)


def even_game(speed: int) -> tuple[float, float, int]:
    """Mean true reward, share of time level, and cars that passed or were passed, after gathering speed."""
    env = AtariVectorEnv(atari("enduro-even"), 1, np.random.default_rng(2), threads=1)
    drive(env, speed, 60)
    env._sums[:] = 0
    rewards, points = drive(env, speed, 300)
    return float(rewards.mean()), float(env._sums[0, 0] / 300), int(np.abs(points).sum())


def test_in_even_mode_keeping_the_traffics_pace_is_best() -> None:
    reward, level, passings = even_game(24)
    assert reward > 0.8 and level > 0.8 and passings <= 1


def test_in_even_mode_driving_off_is_worth_nothing() -> None:
    reward, level, passings = even_game(120)
    assert reward < 0.4 and level < 0.2 and passings > 5


def test_in_even_mode_being_passed_is_worth_nothing_though_the_game_does_not_count_it() -> None:
    reward, level, passings = even_game(0)
    assert reward < 0.1 and level == 0 and passings == 0


def test_a_name_that_is_not_there_lists_the_games_that_are() -> None:
    with pytest.raises(UserError) as refused:
        get_task("pingpong")
    assert all(name in str(refused.value) for name in (*PAPER_GAMES, "enduro-even"))


def test_a_missing_game_names_the_package_that_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(UserError, match=r"^Q\*bert needs the file qbert.bin, which the package ale-py brings"):
        make_envs(atari("qbert"), 2, np.random.default_rng(0))


def test_a_damaged_game_is_told_of_in_the_same_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pong.bin").write_bytes(b"no game")
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(UserError, match="ale-py"):
        make_envs(atari("pong"), 2, np.random.default_rng(0))


def test_the_games_of_the_paper_are_in_the_catalogue() -> None:
    assert [task.name for task in GAMES] == [*PAPER_GAMES, "enduro-even"]
    assert all(CATALOGUE[task.name].pictures == (4, 84, 84) for task in GAMES)


def test_episodes_of_unequal_length_are_counted_once_for_each_environment() -> None:
    env = AtariVectorEnv(atari("breakout"), 4, np.random.default_rng(0), threads=2)
    rng = np.random.default_rng(0)
    ended: list[float] = []

    def act(observations: np.ndarray) -> tuple[Float32, Float32]:
        return one_hot(rng.integers(4, size=4), 4), np.zeros(4, np.float32)

    finished, states = run_episodes(env, act, 1, 4500)
    ended += [figures["seconds_per_game"] for _, figures in finished]
    assert len(finished) == 4 and len(states) == 0
    assert max(ended) == pytest.approx(env._time / 15)


def test_of_an_episode_no_more_states_are_kept_than_are_wanted() -> None:
    env = AtariVectorEnv(atari("breakout"), 4, np.random.default_rng(0), threads=2, film=CaptureSchedule(1, 40))
    first = env.states[0]

    def act(observations: np.ndarray) -> tuple[Float32, Float32]:
        return one_hot(np.zeros(4, int), 4), np.zeros(4, np.float32)

    finished, states = run_episodes(env, act, 1, 60, 25)
    assert (finished, env._time) == ([], 60)
    assert states.shape == (25, image_codec.ROW) and states.base is None  # not of the other games too
    assert (states[0] == first).all() and states.any(axis=1).all()


def test_a_game_that_would_go_on_for_ever_is_cut_after_five_minutes_at_no_cost() -> None:
    env = AtariVectorEnv(atari("breakout"), 1, np.random.default_rng(0), threads=1)
    nothing = one_hot(np.array([0]), 4)  # the ball is never served
    steps = [env.step(nothing) for _ in range(env.task.longest_episode)]
    assert sum(len(step.finished) for step in steps) == 1
    assert not any(step.true_rewards.any() or step.ended.any() for step in steps)
    ((_, figures),) = next(step.finished for step in steps if step.finished)
    assert 299 < figures["seconds_per_game"] <= 300
