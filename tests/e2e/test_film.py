"""Films of a short real session, made for real, and decoded again."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import torch

from core.errors import UserError
from core.events import Event, FilmMade, FilmProgressed, FilmRequested
from core.headless.run import HeadlessRun
from core.jobs import film, film_captions
from core.jobs.film import FilmJob
from core.rollout.actor import build_policy
from core.session.policy_snapshots import PolicySnapshots, SnapshotInfo
from core.session.session import Session, read_config
from tests.core.builders import tiny

ROOT = Path(__file__).resolve().parents[2]
HEIGHT = 90


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of the paper's quickest robot (50 steps an episode) that has learned a little."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("taught") / "s"
    session = Session.create(folder, tiny(task="reacher", steps=8 * 32 * 8))
    with closing(session), closing(HeadlessRun(session, lambda event: None, threads=1)) as run:
        run.run()
    return folder


BRIEF = {"scenes": 3, "scene_seconds": 1.0, "last_seconds": 2.0, "card_seconds": 0.5}


def events(folder: Path, target: Path, before_after: bool = False, height: int = HEIGHT) -> Iterator[Event | None]:
    job = FilmJob(read_config(folder), **BRIEF)  # type: ignore[arg-type]
    job.receive(FilmRequested(str(folder), str(target), before_after, height))
    for event in job.run():
        yield event
        if isinstance(event, FilmMade):
            return


def made(folder: Path, target: Path, before_after: bool = False) -> tuple[np.ndarray, list[Event]]:
    """The film's pictures (frames, height, width, 3), decoded, and what was told while it was made."""
    told = [event for event in events(folder, target, before_after) if event is not None]
    with av.open(str(target)) as container:
        assert float(container.streams.video[0].average_rate or 0) == pytest.approx(30)
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]), told


def difference(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one.astype(int) - other.astype(int)).mean())


def test_a_film_shows_the_learning_from_title_to_end(taught: Path, tmp_path: Path) -> None:
    frames, told = made(taught, tmp_path / "film.mp4")
    card, scene, last = 15, 30, 60
    assert frames.shape == (card + 2 * scene + last + card, HEIGHT, HEIGHT * 16 // 9, 3)
    scenes = [frames[card + 5], frames[card + scene + 5], frames[card + 2 * scene + 5]]
    panels = [picture[:, HEIGHT:] for picture in scenes]
    assert difference(panels[0], panels[1]) > 1 < difference(panels[1], panels[2])  # captions, and the curve
    assert difference(panels[0], frames[card + 25, :, HEIGHT:]) < 1  # one caption stays as long as its policy acts
    assert difference(frames[card + 5, :, :HEIGHT], frames[card + 25, :, :HEIGHT]) > 1  # and the robot moves
    for still in (frames[0], frames[-1]):
        assert still.std() > 10 and difference(still, scenes[0]) > 10
    shares = [event.share for event in told if isinstance(event, FilmProgressed)]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] > 0.9 and len(shares) < 120
    assert told[-1] == FilmMade(str(tmp_path / "film.mp4"), "")
    assert [path.name for path in tmp_path.iterdir()] == ["film.mp4"]


def test_before_and_after_go_in_step_from_the_same_start(taught: Path, tmp_path: Path) -> None:
    frames, _ = made(taught, tmp_path / "pair.mp4", before_after=True)
    side = HEIGHT * 8 // 9
    assert frames.shape == (2 * 30, HEIGHT, 2 * side, 3)
    left, right = frames[:, :side, :side], frames[:, :side, side:]
    inner = slice(4, -4)  # of the line between them
    apart = [difference(left[i][:, inner], right[i][:, inner]) for i in range(60)]
    assert apart[0] == min(apart) < 0.5 * max(apart)
    band = frames[:, side:]
    assert band[0].std() > 10 and difference(band[0], band[-1]) < 1
    assert difference(band[0, :, :side], band[0, :, side:]) > 2  # two captions


def test_given_up_it_leaves_no_half_file(taught: Path, tmp_path: Path) -> None:
    making = events(taught, tmp_path / "film.mp4")
    for event in making:
        if isinstance(event, FilmProgressed) and event.share > 0.1:
            break
    assert [path.name for path in tmp_path.iterdir()] == ["film.mp4.part"]
    making.close()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_policy_is_left_out_with_a_note(
    taught: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paths = PolicySnapshots(taught).files()
    whole = paths[2].read_bytes()
    paths[2].write_bytes(whole[:-5])
    try:
        _, told = made(taught, tmp_path / "film.mp4")
    finally:
        paths[2].write_bytes(whole)
    assert isinstance(told[-1], FilmMade) and "One earlier policy is damaged" in told[-1].note
    assert "is damaged" in caplog.text


def refused(folder: Path, target: Path, height: int = HEIGHT) -> str:
    with pytest.raises(UserError) as error:
        list(events(folder, target, height=height))
    assert "\n" not in str(error.value) and str(error.value).endswith(".")
    return str(error.value)


def test_where_no_film_can_be_made_it_is_said_in_a_sentence(taught: Path, tmp_path: Path) -> None:
    assert "can't be written" in refused(taught, tmp_path / "nowhere" / "film.mp4")
    assert ".mp4" in refused(taught, tmp_path / "film.gif")
    assert "multiple of 18" in refused(taught, tmp_path / "film.mp4", height=100)
    (tmp_path / "new").mkdir()
    Session.create(tmp_path / "new" / "s", tiny()).close()
    assert "teach for a minute first" in refused(tmp_path / "new" / "s", tmp_path / "film.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_task_that_draws_no_pictures_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnasium.envs.classic_control import CartPoleEnv

    monkeypatch.setattr(CartPoleEnv, "render", lambda self: None)
    session = Session.create(tmp_path / "s", tiny(task="gym:CartPole-v1"))
    with closing(session), closing(HeadlessRun(session, lambda event: None, threads=1)):
        snapshots = session.snapshots()
        _, weights = snapshots.load(0)
        snapshots.add(SnapshotInfo(500, 1, 1.0, 0.0), weights, always=True)
    assert "draws no pictures" in refused(tmp_path / "s", tmp_path / "film.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_where_no_episode_ends_within_a_scene_the_measure_is_the_one_known_then(
    taught: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_episodes = film.run_episodes
    monkeypatch.setattr(film, "run_episodes", lambda *arguments: ([], run_episodes(*arguments)[1]))
    known, weights = PolicySnapshots(taught).load(0)
    scene = FilmJob(read_config(taught)).make_scene(dataclasses.replace(known, measure=4.25), weights)
    assert scene.figure == 4.25 and scene.caption.figure == "4.2"


def test_the_quick_deaths_are_not_taken_for_the_whole(taught: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_episodes = film.run_episodes

    def but_one(*arguments: Any) -> Any:
        finished, states = run_episodes(*arguments)
        return finished[1:], states

    monkeypatch.setattr(film, "run_episodes", but_one)
    known, weights = PolicySnapshots(taught).load(0)
    assert FilmJob(read_config(taught)).make_scene(dataclasses.replace(known, measure=4.25), weights).figure == 4.25


@pytest.mark.parametrize(
    ("known", "games", "steps", "told"), [(4.25, 1, 300, 4.25), (float("nan"), 8, 4500, 3.5)], ids=["taught", "new"]
)
def test_a_game_is_judged_by_games_that_were_played_to_their_end(
    monkeypatch: pytest.MonkeyPatch, known: float, games: int, steps: int, told: float
) -> None:
    config = tiny(task="breakout", policy__vision="small")
    asked: list[tuple[int, ...]] = []

    def ended(env: Any, act: Any, each: int, limit: int, keep: int) -> Any:
        asked.append((env.count, each, limit, keep))
        return [(0.0, {"score_per_game": float(row)}) for row in range(env.count)], env.states[:1]

    monkeypatch.setattr(film, "run_episodes", ended)
    moment = SnapshotInfo(500, 1, 1.0, known)
    scene = FilmJob(config).make_scene(moment, build_policy(config).to_arrays())
    assert asked == [(games, 1, steps, 300)] and scene.figure == told


def test_the_command_makes_one_and_tells_what_is_wrong_in_a_sentence(taught: Path, tmp_path: Path) -> None:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "core", "film", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)

    done = run(taught, "--out", tmp_path / "a.mp4", "--before-after", "--height", HEIGHT)
    assert done.returncode == 0 and f"wrote {tmp_path / 'a.mp4'}" in done.stderr, done.stderr
    assert (tmp_path / "a.mp4").stat().st_size > 1000
    bad = run(tmp_path / "none", "--out", tmp_path / "b.mp4")
    assert bad.returncode == 2 and len(bad.stderr.strip().splitlines()) == 1 and "not a session" in bad.stderr


def test_text_is_wrapped_and_shrunk_to_its_room() -> None:
    text = "Choose the clip in which the robot does more of a backflip"
    lines = film_captions.wrapped(text, 30, 300)
    assert " ".join(lines) == text and len(lines) > 1
    assert all(film_captions.width(line, 30) <= 300 for line in lines)
    assert film_captions.width(text, film_captions.fitting(text, 30, 300)) <= 306


@pytest.mark.parametrize(
    "draw", [lambda c: film_captions.learning(np.zeros((HEIGHT, HEIGHT, 3), np.uint8), "Hopper", c, [0, 1], 1)]
)
def test_a_caption_changes_the_picture_in_its_own_band_alone(
    draw: Callable[[film_captions.Caption], np.ndarray],
) -> None:
    one = draw(film_captions.Caption("after 12 answers, 3 minutes", "0.4", "Backflips"))
    other = draw(film_captions.Caption("after 90 answers, 8 minutes", "0.4", "Backflips"))
    changed = np.argwhere((one != other).any(axis=2))
    assert len(changed) > 20
    assert changed[:, 1].min() >= HEIGHT and changed[:, 0].max() < 0.5 * HEIGHT
