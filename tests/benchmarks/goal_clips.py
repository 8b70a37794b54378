"""Clips of the goal for the cards of the start page: a robot's behaviour, or points in a game.

    .venv/bin/python -m tests.benchmarks.goal_clips [TASK ...] [--sessions DIR] [--out resources/goals]

Trains each behaviour with `core teach --teacher none`, films an episode of the policy without noise,
and writes the stretch with the highest reward that closes best as a loop: TASK.jpg has the frames below each other, as in
the start page's cache, and clips.json the figures. A policy that does not show the goal gets no clip, and its card keeps
the picture of the untrained robot. --sessions keeps the trained sessions; existing ones are not trained again. Takes
about two minutes per behaviour on an idle core. Inspect `contact-sheet.png` in the sessions' folder.

A game takes hours to learn. Its clip is the best stretch of many games with random actions, by the true reward.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from core.envs import make_envs
from core.envs.base import CaptureSchedule
from core.envs.renderer import renderer_for
from core.io import files
from core.rollout.actor import Actor
from core.rollout.collector import at_once
from core.rollout.episodes import DemonstrationEpisode, demonstrate
from core.seeding import generator
from core.session.session import Session
from core.tasks import PAPER_GAMES, get_task
from core.tasks.base import Task
from core.types import Frames, Segment

ROOT = Path(__file__).resolve().parents[2]
FPS, SIZE, QUALITY = 12.0, 192, 58
"""Frames per second of the cards, pixels of a frame, and quality of the JPEG."""
_BEST_SHARE = 0.1
"""Share of the stretches, by true reward, of which the one that closes best is taken."""
_LEAD_IN_SECONDS = 0.5


@dataclass(frozen=True)
class Recipe:
    """Settings for the clip of a task.

    steps: environment steps of training; seconds: length of the loop; whole: whether it begins with the episode

    reached: figure of the filmed episode and the least value at which it shows what the card says
    behaviour: fields of a behaviour file to train instead, if the task's own true reward leads elsewhere
    """

    steps: int = 1_500_000
    seconds: float = 2.5
    whole: bool = False
    seed: int = 0
    reached: tuple[str, float] | None = None
    behaviour: Mapping[str, Any] | None = None


_WALKING = {
    "robot": "walker",
    "instruction": "Choose the clip in which the robot walks faster to the right, upright and on its feet.",
    "clip_seconds": 1.5,
    "oracle": "clip(forward_speed, -1, 2) + up + clip(height - 1, -1, 0.2) - 0.3 * contact[torso_geom]",
    "measure": {"name": "share_upright", "expression": "share(height > 0.9 and up > 0.7)"},
}
"""Walking at two metres a second: the Walker's own reward has no limit, and its policies leap out of the picture."""
RECIPES = {
    "hopper-backflip": Recipe(seed=2, reached=("clean_landings_per_episode", 8)),
    "half-cheetah-one-leg": Recipe(),
    "reacher": Recipe(500_000, whole=True),
    "pendulum": Recipe(300_000, 2.0),
    "double-pendulum": Recipe(2_000_000, 2.0, reached=("share_upright", 0.9)),
    "swimmer": Recipe(2_000_000, 4.0, reached=("forward_speed", 0.15)),
    "half-cheetah": Recipe(1_000_000),
    "hopper": Recipe(3_000_000, reached=("forward_speed", 1)),
    "walker": Recipe(reached=("share_upright", 0.75), behaviour=_WALKING),
    "ant": Recipe(),
    "ant-spin": Recipe(500_000),
    "ant-two-legs": Recipe(seconds=3.0, reached=("share_on_two_legs", 0.3)),
    "double-pendulum-windmill": Recipe(500_000, 2.0),
    "half-cheetah-backflip": Recipe(reached=("backflips_per_episode", 1)),
    "half-cheetah-upright": Recipe(1_200_000),
    "hopper-frontflip": Recipe(seed=400, reached=("frontflips_per_episode", 3)),
    "hopper-stand-up": Recipe(1_500_000, 3.0, whole=True, reached=("share_standing", 0.5)),
    "pendulum-aside": Recipe(400_000, 2.0),
    "reacher-wave": Recipe(500_000),
    "swimmer-whirl": Recipe(2_000_000, 4.0, reached=("turning_speed_rad_s", 0.25)),
    "walker-backward": Recipe(1_500_000, reached=("share_of_time_upright", 0.8)),
    "walker-kneel": Recipe(800_000),
}


GAMES = (*PAPER_GAMES, "enduro-even")
_PLAYERS, _GAME_STEPS, _GAME_SECONDS = 16, 1500, 2.5
"""Games at once, the steps of each, and the seconds that are shown."""
_HELD_STEPS = (2, 30)
"""Shortest and longest time for which a random action is held; longer ones pass cars and cross the screen."""


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("tasks", nargs="*", metavar="TASK", help="default: all")
    made.add_argument("--sessions", type=Path, help="folder for the trained sessions (default: a temporary one)")
    made.add_argument("--out", type=Path, default=ROOT / "resources" / "goals")
    options = made.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="somersault-goals-") as scratch:
        sessions = options.sessions or Path(scratch)
        for name in options.tasks or (*RECIPES, *GAMES):
            if name in GAMES:
                make_game(name, options.out)
            else:
                train(name, sessions / name)
                make(name, sessions / name, options.out)
        if options.sessions:
            contact_sheet(options.out, sessions / "contact-sheet.png")


def train(name: str, folder: Path) -> None:
    """Train a policy on the true reward, unless the session exists."""
    if folder.exists():
        return
    recipe = RECIPES[name]
    trained = name
    if recipe.behaviour:
        path = folder.with_suffix(".json")
        path.write_text(json.dumps({"name": f"{name}-goal", "title": name, **recipe.behaviour}))
        trained = str(path)
    words = [sys.executable, "-m", "core", "teach", trained, "--teacher", "none"]
    words += ["--steps", str(recipe.steps), "--seed", str(recipe.seed), "--session", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, stdout=sys.stderr)


def make(name: str, folder: Path, out: Path) -> None:
    """Write the clip of a trained session, and its figures."""
    recipe = RECIPES[name]
    with closing(Session.open(folder)) as session:
        config, task = session.config, get_task(session.config.task)
        assert config.seed == recipe.seed and recipe.steps <= config.steps, f"{folder} was trained by another recipe"
        episode = _episode(session, task)
    if recipe.reached and episode.measure[recipe.reached[0]] < recipe.reached[1]:
        (out / f"{name}.jpg").unlink(missing_ok=True)
        index = out / "clips.json"
        _write(index, {other: figures for other, figures in _read(index).items() if other != name})
        print(f"{name}: no clip, as the policy does not show the goal: {episode.measure}", flush=True)
        return
    first, last = _loop(episode.segment, task, recipe)
    with closing(renderer_for(task)) as renderer:
        clip = renderer.render(episode.segment.states[first:last], SIZE, FPS)
    figures = {
        "steps": config.steps,
        "seed": config.seed,
        "measure": {key: round(value, 3) for key, value in episode.measure.items()},
        "from_second": round(first * task.step_seconds, 2),
        "seconds": round((last - first) * task.step_seconds, 2),
    }
    _save(name, clip, figures, out)


def make_game(name: str, out: Path) -> None:
    """Write the clip of a game, and the points scored in it."""
    task, rng = get_task(name), generator(0, f"goal clip of {name}")
    length = round(_GAME_SECONDS / task.step_seconds)
    env = make_envs(task, _PLAYERS, rng, staggered=False, capture=CaptureSchedule(_PLAYERS, _GAME_STEPS))
    states: list[npt.NDArray[Any]] = []
    rewards = np.zeros((_GAME_STEPS, _PLAYERS))
    actions, left = np.zeros(_PLAYERS, np.int64), np.zeros(_PLAYERS, np.int64)
    try:
        for step in range(_GAME_STEPS):
            new = left == 0
            actions[new] = rng.integers(env.sizes[1], size=new.sum())
            left[new] = rng.integers(*_HELD_STEPS, size=new.sum())
            left -= 1
            states.append(env.states.copy())
            rewards[step] = env.step(np.eye(env.sizes[1], dtype=np.float32)[actions]).true_rewards
    finally:
        env.close()
    gained = np.concatenate([np.zeros((1, _PLAYERS)), np.cumsum(rewards, axis=0)])
    stretches = gained[length:] - gained[:-length]
    first, player = np.unravel_index(int(stretches.argmax()), stretches.shape)
    with closing(renderer_for(task)) as renderer:
        clip = renderer.render(np.stack([row[player] for row in states[first : first + length]]), SIZE, FPS)
    scored = {"true_reward": round(float(stretches.max()), 3)}
    _save(name, clip, {"measure": scored, "seconds": round(length * task.step_seconds, 2)}, out)


def _save(name: str, clip: Frames, figures: dict[str, Any], out: Path) -> None:
    """Write a clip, and add its figures to those of the others."""
    files.write_atomically(out / f"{name}.jpg", encoded(clip))
    index = out / "clips.json"
    _write(index, {**_read(index), name: figures})
    print(name, (out / f"{name}.jpg").stat().st_size, figures, flush=True)


def _read(index: Path) -> dict[str, Any]:
    return json.loads(index.read_text("utf-8")) if index.exists() else {}


def _write(index: Path, figures: dict[str, Any]) -> None:
    files.write_atomically(index, (json.dumps(figures, indent=2, sort_keys=True) + "\n").encode())


def _episode(session: Session, task: Task) -> DemonstrationEpisode:
    """Film an episode of the session's policy without noise."""
    loaded = session.load()
    assert loaded is not None, f"{session.folder} has no checkpoint"
    actor = Actor(session.config, None)
    actor.load(loaded[1]["policy"].arrays)
    episode = at_once(demonstrate(task, actor, generator(0, "goal clip")))
    assert episode is not None, "the simulation diverged"
    return episode


def _loop(segment: Segment, task: Task, recipe: Recipe) -> tuple[int, int]:
    """Choose the stretch to show: its first step, and the one after its last."""
    length = round(recipe.seconds / task.step_seconds)
    if recipe.whole:
        return 0, length
    gained = np.concatenate([[0.0], np.cumsum(segment.true_rewards)])
    firsts = np.arange(
        min(round(_LEAD_IN_SECONDS / task.step_seconds), segment.length - length), segment.length - length
    )
    rewards = gained[firsts + length] - gained[firsts]
    best = firsts[rewards >= np.quantile(rewards, 1 - _BEST_SHARE)]
    scaled = segment.observations / (segment.observations.std(axis=0) + 1e-6)
    jumps = np.linalg.norm(scaled[best + length] - scaled[best], axis=1)
    first = int(best[jumps.argmin()])
    return first, first + length


def encoded(clip: Frames) -> bytes:
    """Encode the frames below each other."""
    count, height, width, _ = clip.pixels.shape
    strip = cv2.cvtColor(clip.pixels.reshape(count * height, width, 3), cv2.COLOR_RGB2BGR)
    done, content = cv2.imencode(".jpg", strip, [cv2.IMWRITE_JPEG_QUALITY, QUALITY, cv2.IMWRITE_JPEG_OPTIMIZE, 1])
    assert done
    return bytes(content)


def contact_sheet(folder: Path, target: Path, shown: int = 10) -> None:
    """Join some frames of each clip, a row for each, with its name."""
    rows: list[npt.NDArray[Any]] = []
    for path in sorted(folder.glob("*.jpg")):
        strip = cv2.imread(str(path))
        frames = strip.reshape(-1, SIZE, SIZE, 3)
        row = np.concatenate([frames[at] for at in np.linspace(0, len(frames) - 1, shown).astype(int)], axis=1)
        cv2.putText(row, path.stem, (8, 22), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (255, 255, 255), 2)
        rows.append(row)
    cv2.imwrite(str(target), np.concatenate(rows))


if __name__ == "__main__":
    main()
