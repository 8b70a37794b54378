"""The film job: a video of how the policy learned, or of before and after, from the policy snapshots."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.config import Config
from core.envs import make_envs
from core.envs.base import CaptureSchedule
from core.envs.renderer import Renderer, renderer_for
from core.errors import UserError, weight_errors
from core.events import Arrays, Event
from core.film import captions
from core.film.captions import Caption, Picture
from core.formatting import format_duration, format_number, pluralize
from core.io.video_writer import check_path, video_file
from core.jobs.service import Service
from core.metrics import evenly
from core.preferences.store import FOLDER, PreferenceStore
from core.rollout.actor import Actor
from core.rollout.episodes import run_episodes
from core.seeding import generator
from core.service_events import FilmMade, FilmProgressed, FilmRequested
from core.session.policy_snapshots import SnapshotInfo, snapshots_of
from core.tasks import get_task
from core.types import AUDIENCE, GUEST, Teacher

FPS = 30.0
_MAX_HEIGHT = 2160
_EPISODES = 8
"""Episodes that the measure in a caption is averaged over."""
_LABELLERS: Mapping[str, str] = {
    Teacher.HUMAN: "a person",
    Teacher.ORACLE: "the computer",
    Teacher.PERSON: "a simulated person",
    AUDIENCE: "an audience",
}
"""Names for an audience; other labellers have their own."""


@dataclass(frozen=True)
class FilmScene:
    """One snapshot's policy in the film.

    figure: the task's measure, as in the caption
    states: (steps, S), states of an episode
    """

    info: SnapshotInfo
    caption: Caption
    figure: float
    states: npt.NDArray[Any]


class FilmJob(Service[FilmRequested]):
    """Answers each FilmRequested with FilmProgressed events and a FilmMade. An error or cancellation leaves no file.

    With the default lengths, a film of how the policy learned is shorter than a minute.
    """

    name, requests = "film", FilmRequested

    def __init__(
        self,
        config: Config,
        scenes: int = 8,
        scene_seconds: float = 4.0,
        last_seconds: float = 8.0,
        card_seconds: float = 4.0,
    ) -> None:
        """Set the lengths of the film.

        scenes: number of policies shown
        scene_seconds, last_seconds: duration of each but the last of them, and of the last
        card_seconds: duration of the title and of the end card
        """
        super().__init__()
        self._config, self._task = config, get_task(config.task, config.true_reward)
        self._scenes, self._card_frames = scenes, round(card_seconds * FPS)
        self._scene_steps, self._last_steps = (
            min(self._task.episode_steps, max(1, round(seconds / self._task.step_seconds)))
            for seconds in (scene_seconds, last_seconds)
        )

    def answer(self, request: FilmRequested) -> Iterator[Event | None]:
        target, notes, height = Path(request.target), list[str](), request.height
        check_path(target)
        if not 0 < height <= _MAX_HEIGHT or height % 18:
            raise UserError(
                f"A film can't be {height} pixels high: give a multiple of 18 up to {_MAX_HEIGHT}, such as 720."
            )
        snapshots = self._choose_snapshots(request, notes)
        yield FilmProgressed(0.0)
        labellers = labellers_of(Path(request.folder), snapshots[-1][0].labels)
        with video_file(target, height * 16 // 9, height, FPS) as video, closing(renderer_for(self._task)) as renderer:
            scenes = []
            for info, weights in snapshots:
                scenes.append(self.make_scene(info, weights))
                yield None
            show = self._before_after if request.before_after else self._learning
            pictures = show(request, scenes, renderer)
            total, reported = self._count_pictures(len(scenes), request.before_after), 0.0
            title = self._title_card(scenes[-1].info, labellers, height)
            for number, picture in enumerate(chain([title] * self._card_frames, pictures), 1):
                video.add(picture)
                share = min(0.99, number / total)  # the encoder is not done yet
                if share - reported >= 0.01:
                    reported = share
                    yield FilmProgressed(share)
                else:
                    yield None
        yield FilmMade(str(target), " ".join(notes))

    def _choose_snapshots(self, request: FilmRequested, notes: list[str]) -> list[tuple[SnapshotInfo, Arrays]]:
        """Choose evenly among the saved policies. Sentences about damaged ones are appended to `notes`."""
        snapshots = snapshots_of(Path(request.folder), self._config)
        infos = snapshots.infos(notes.append)
        if len(infos) < 2:
            raise UserError(f"{request.folder} has no policies to make a film of yet: teach for a minute first.")
        count = 2 if request.before_after else min(self._scenes, len(infos))
        chosen = evenly(len(infos), count)
        return [snapshots.load(infos[i].env_steps) for i in chosen]

    def make_scene(self, info: SnapshotInfo, weights: Arrays) -> FilmScene:
        """Run the policy, from the same starts as all others, for the scene and for the figure in its caption."""
        task = self._task
        # A game's figure is known only at its end, long after the scene, so the snapshot's own is used if it has one. That
        # is a mean of episodes with noise, so those of a snapshot without one have noise, too.
        measured = not task.pictures or math.isnan(info.measure)
        noise = generator(self._config.seed, "film actions") if task.pictures and measured else None
        actor = Actor(self._config, noise)
        with weight_errors():
            actor.load(weights)
        count, limit = (_EPISODES, task.longest_episode) if measured else (1, task.episode_steps)
        capture = CaptureSchedule(1, task.episode_steps, one_in=limit)  # captures the first stretch alone
        env = make_envs(task, count, generator(self._config.seed, "film"), threads=1, staggered=False, capture=capture)
        try:
            finished, states = run_episodes(env, actor, 1, limit, task.episode_steps)
        finally:
            env.close()
        figures = [measure[task.measure_name] for _, measure in finished]
        # If only some episodes ended, they were the short ones: their mean would be biased.
        figure = float(np.mean(figures)) if measured and len(figures) == _EPISODES else info.measure
        return FilmScene(info, Caption(info.caption, format_number(figure), task.measure_title), figure, states)

    def _count_pictures(self, scenes: int, before_after: bool) -> int:
        steps = self._last_steps + (0 if before_after else (scenes - 1) * self._scene_steps)
        cards = self._card_frames if before_after else 2 * self._card_frames
        return max(1, round(FPS * steps * self._task.step_seconds) + cards)

    def _title_card(self, last: SnapshotInfo, labellers: Mapping[str, int], height: int) -> Picture:
        how = how_taught(labellers, self._config.teacher == Teacher.NONE)
        facts = f"{format_duration(last.seconds)} of training · {last.env_steps:,} steps of simulation · Somersault"
        return captions.title_card(height, self._task.title, how, facts)

    def _learning(self, request: FilmRequested, scenes: list[FilmScene], renderer: Renderer) -> Iterator[Picture]:
        """Yield every policy in turn with its caption and the curve so far, then the end card."""
        task, last, height = self._task, scenes[-1], request.height
        curve = [scene.figure for scene in scenes]
        for at, scene in enumerate(scenes):
            steps = self._last_steps if scene is last else self._scene_steps
            for clip in renderer.pictures(scene.states[:steps], height, FPS):
                yield captions.learning(clip, task.title, scene.caption, curve, at)
        facts = f"{task.title} · {last.info.env_steps:,} steps of simulation · Somersault"
        end = captions.end_card(height, scenes[0].caption, last.caption, facts, curve)
        yield from [end] * self._card_frames

    def _before_after(self, request: FilmRequested, scenes: list[FilmScene], renderer: Renderer) -> Iterator[Picture]:
        side = request.height * 8 // 9
        clips = [renderer.pictures(scene.states[: self._last_steps], side, FPS) for scene in scenes]
        for before, after in zip(*clips, strict=True):
            yield captions.side_by_side((before, after), [scene.caption for scene in scenes])


def labellers_of(session: Path, labels: int) -> dict[str, int]:
    """Count each labeller's answers among the first `labels` of a session.

    Raises UserError if a session's answers can't be read.
    """
    with closing(PreferenceStore(session / FOLDER, read_only=True)) as store:
        rows = store.labels()[:labels]
    return Counter(row.labeller for row in rows)


def how_taught(labellers: Mapping[str, int], by_true_reward: bool) -> str:
    """Describe for an audience how and by whom the policy was taught. labellers: number of answers of each"""
    if by_true_reward:
        return "Learned from the task's own reward."
    if not labellers:
        return "Before the first answer."
    counts = Counter[str]()
    for labeller, count in labellers.items():
        guest = labeller.startswith(GUEST) and labeller not in _LABELLERS
        counts["guests" if guest else _LABELLERS.get(labeller, labeller)] += count
    taught = f"Taught with {pluralize(counts.total(), 'answer')} about pairs of short clips"
    if len(counts) > 1:
        *others, last = (f"{count:,} by {name}" for name, count in counts.most_common())
        return f"{taught}: {', '.join(others)} and {last}."
    knows = ", which knows the true reward" if Teacher.ORACLE in labellers else ""
    return f"{taught}. Answered by {next(iter(counts))}{knows}."
