"""The film job: how the policy learned, or before and after, as a video file of the policies that were kept."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.config import Config
from core.envs import make_envs
from core.envs.base import CaptureSchedule
from core.envs.renderer import Renderer, renderer_for
from core.errors import UserError
from core.events import Arrays, Event, FilmMade, FilmProgressed, FilmRequested, JobState, Waited
from core.formatting import format_duration, format_number, pluralize
from core.io.video_writer import check_path, video_file
from core.jobs import film_captions
from core.jobs.film_captions import Caption, Picture
from core.rollout.actor import Actor
from core.rollout.episodes import run_episodes
from core.seeding import generator
from core.session.policy_snapshots import SnapshotInfo, snapshots_of
from core.session.restore_errors import weight_errors
from core.tasks import get_task

_FPS = 30.0
_SCENES = 8
"""Policies in the film of how it learned: with these lengths it takes less than a minute to watch."""
_SCENE_SECONDS, _LAST_SECONDS, _CARD_SECONDS = 4.0, 8.0, 4.0
_MAX_HEIGHT = 2160
_EPISODES = 8
"""The measure in a caption is the mean of so many, or what it was known to be in training where some never ended."""


@dataclass(frozen=True)
class Scene:
    """A policy of the past: when it was, how well it does, and the states of an episode of it, one row a step."""

    moment: SnapshotInfo
    caption: Caption
    figure: float
    states: Any


class FilmJob:
    """Answers each FilmRequested with FilmProgressed and at last FilmMade. What stops it leaves no file."""

    def __init__(self, config: Config) -> None:
        self._config, self._task = config, get_task(config.task)
        self._requests: deque[FilmRequested] = deque()

    def receive(self, event: Event) -> None:
        if isinstance(event, FilmRequested):
            self._requests.append(event)

    def run(self) -> Iterator[Event | None]:
        while True:
            if not self._requests:
                yield Waited("film", "no film to make")
                continue
            yield from self._make(self._requests.popleft())

    def _make(self, request: FilmRequested) -> Iterator[Event | None]:
        target, notes = Path(request.target), list[str]()
        check_path(target)
        if not 0 < request.height <= _MAX_HEIGHT or request.height % 18:
            raise UserError(
                f"A film can't be {request.height} pixels high: give a multiple of 18, such as 720 or 1080."
            )
        chosen = self._chosen(request, notes)
        yield FilmProgressed(0.0)
        height = request.height
        with video_file(target, height * 16 // 9, height, _FPS) as add, renderer_for(self._task) as renderer:
            scenes = []
            for moment, weights in chosen:
                scenes.append(self._scene(moment, weights))
                yield None
            pictures = self._pair if request.before_after else self._learning
            total, told = self._length(scenes, request.before_after), 0.0
            for number, picture in enumerate(pictures(scenes, renderer, height), 1):
                add(picture)
                share = min(0.99, number / total)  # the encoder still has some to write
                yield FilmProgressed(share) if share - told >= 0.01 else None
                told = share if share - told >= 0.01 else told
        yield FilmMade(str(target), " ".join(notes))

    def _chosen(self, request: FilmRequested, notes: list[str]) -> list[tuple[SnapshotInfo, Arrays]]:
        """Evenly from those that are kept: they stand closer together where the policy changed most."""
        kept = snapshots_of(Path(request.folder), self._config)
        moments = kept.infos(notes.append)
        if len(moments) < 2:
            raise UserError(f"{request.folder} has no policies kept to make a film of yet: teach for a minute first.")
        count = 2 if request.before_after else min(_SCENES, len(moments))
        wanted = np.linspace(0, len(moments) - 1, count).round().astype(int)
        return [kept.load(moments[i].env_steps) for i in wanted]

    def _scene(self, moment: SnapshotInfo, weights: Arrays) -> Scene:
        """Every policy starts the same, so that what differs is what was learned."""
        actor, task = Actor(self._config, None), self._task
        with weight_errors():
            actor.load(weights)
        # What a game is worth shows only once it is over, long after the scene: the training's own figure does, then.
        measured = not task.pictures or math.isnan(moment.measure)
        count, limit = (_EPISODES, task.longest_episode) if measured else (1, task.episode_steps)
        film = CaptureSchedule(1, task.episode_steps, one_in=limit)  # the first stretch alone
        env = make_envs(task, count, generator(self._config.seed, "film"), threads=1, staggered=False, film=film)
        try:
            finished, states = run_episodes(env, actor, 1, limit, task.episode_steps)
        finally:
            env.close()
        figures = [measure[task.measure_name] for _, measure in finished]
        mean = float(np.mean(figures)) if measured and len(figures) == _EPISODES else moment.measure
        return Scene(moment, Caption(moment.caption, format_number(mean), task.measure_title), mean, states)

    def _steps(self, seconds: float) -> int:
        return min(self._task.episode_steps, max(1, round(seconds / self._task.step_seconds)))

    def _length(self, scenes: list[Scene], before_after: bool) -> int:
        """Pictures in the film, about."""
        last = self._steps(_LAST_SECONDS) * self._task.step_seconds
        others = (len(scenes) - 1) * self._steps(_SCENE_SECONDS) * self._task.step_seconds
        return max(1, round(_FPS * (last if before_after else 2 * _CARD_SECONDS + others + last)))

    def _learning(self, scenes: list[Scene], renderer: Renderer, height: int) -> Iterator[Picture]:
        task, last = self._task, scenes[-1]
        curve = [scene.figure for scene in scenes]
        yield from _held(film_captions.title_card(height, task.title, task.instruction, _taught(last.moment)))
        for at, scene in enumerate(scenes):
            steps = self._steps(_LAST_SECONDS if scene is last else _SCENE_SECONDS)
            for clip in renderer.pictures(scene.states[:steps], height, _FPS):
                yield film_captions.learning(clip, task.title, scene.caption, curve, at)
        facts = f"{task.title} · {last.moment.env_steps:,} steps of simulation · Somersault"
        yield from _held(film_captions.end_card(height, scenes[0].caption, last.caption, facts, curve))

    def _pair(self, scenes: list[Scene], renderer: Renderer, height: int) -> Iterator[Picture]:
        steps, side = self._steps(_LAST_SECONDS), height * 8 // 9
        clips = [renderer.pictures(scene.states[:steps], side, _FPS) for scene in scenes]
        for before, after in zip(*clips, strict=True):
            yield film_captions.side_by_side((before, after), [scene.caption for scene in scenes])

    def get_state(self) -> JobState:
        return JobState({}, {})

    def set_state(self, state: JobState) -> None:
        """Nothing outlives a film."""


def _taught(moment: SnapshotInfo) -> str:
    by = "choosing the better of two clips" if moment.labels else "its true reward"
    times = f", {pluralize(moment.labels, 'time')}" if moment.labels else ""
    return f"Taught by {by}{times}, in {format_duration(moment.seconds)}"


def _held(card: Picture) -> Iterator[Picture]:
    for _ in range(round(_CARD_SECONDS * _FPS)):
        yield card
