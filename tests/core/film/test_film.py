"""Films of a short real session, encoded and decoded again."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import torch

from core.errors import UserError
from core.events import Event, JobSpec
from core.film import captions, film
from core.film.captions import Caption
from core.film.film import FilmJob, how_taught, labellers_of
from core.jobs import build
from core.nn.state import state_arrays
from core.preferences.store import FOLDER, PreferenceStore
from core.rollout.actor import build_policy
from core.service_events import FilmMade, FilmProgressed, FilmRequested
from core.session.policy_snapshots import PolicySnapshots, SnapshotInfo
from core.session.session import Session, read_config
from core.tasks import get_task
from core.types import AUDIENCE, Choice
from core.voting.record import append_votes
from tests.core import played
from tests.core.builders import query, tiny
from tests.core.picture_toys import difference

HEIGHT = 90


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of the robot with the shortest episodes (50 steps) that has learned a little."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("taught") / "s"
    played.taught(folder, tiny(task="reacher", steps=8 * 32 * 8))
    return folder


BRIEF = {"scenes": 3, "scene_seconds": 1.0, "last_seconds": 2.0, "card_seconds": 0.5}


def events(folder: Path, target: Path, before_after: bool = False, height: int = HEIGHT) -> Iterator[Event | None]:
    job = FilmJob(read_config(folder), **BRIEF)
    job.receive(FilmRequested(str(folder), str(target), before_after, height))
    with closing(job.run()) as run:  # Python 3.12 leaves it open when this generator is closed
        for event in run:
            yield event
            if isinstance(event, FilmMade):
                return


def made(folder: Path, target: Path, before_after: bool = False) -> tuple[np.ndarray, list[Event]]:
    """Decoded pictures of the film (frames, height, width, 3), and the events while it was made."""
    sent = [event for event in events(folder, target, before_after) if event is not None]
    with av.open(str(target)) as container:
        assert float(container.streams.video[0].average_rate or 0) == pytest.approx(30)
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]), sent


def test_a_film_shows_the_learning_from_title_to_end(taught: Path, tmp_path: Path) -> None:
    frames, sent = made(taught, tmp_path / "film.mp4")
    card, scene, last = 15, 30, 60
    assert frames.shape == (card + 2 * scene + last + card, HEIGHT, HEIGHT * 16 // 9, 3)
    scenes = [frames[card + 5], frames[card + scene + 5], frames[card + 2 * scene + 5]]
    panels = [picture[:, HEIGHT:] for picture in scenes]
    assert difference(panels[0], panels[1]) > 1 < difference(panels[1], panels[2])  # captions, and the curve
    assert difference(panels[0], frames[card + 25, :, HEIGHT:]) < 1  # one caption stays as long as its policy acts
    assert difference(frames[card + 5, :, :HEIGHT], frames[card + 25, :, :HEIGHT]) > 1  # the robot moves meanwhile
    for still in (frames[0], frames[-1]):
        assert still.std() > 10 and difference(still, scenes[0]) > 10
    shares = [event.share for event in sent if isinstance(event, FilmProgressed)]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] > 0.9 and len(shares) < 120
    assert sent[-1] == FilmMade(str(tmp_path / "film.mp4"), "")
    assert [path.name for path in tmp_path.iterdir()] == ["film.mp4"]


def test_before_and_after_go_in_step_from_the_same_start(taught: Path, tmp_path: Path) -> None:
    frames, _ = made(taught, tmp_path / "pair.mp4", before_after=True)
    side = HEIGHT * 8 // 9
    assert frames.shape == (15 + 2 * 30, HEIGHT, 2 * side, 3)
    assert frames[0].std() > 10 and difference(frames[0], frames[14]) < 1 < difference(frames[0], frames[15])
    frames = frames[15:]  # without the title
    left, right = frames[:, :side, :side], frames[:, :side, side:]
    inner = slice(4, -4)  # without the line between them
    apart = [difference(left[i][:, inner], right[i][:, inner]) for i in range(60)]
    assert apart[0] == min(apart) < 0.5 * max(apart)
    band = frames[:, side:]
    assert band[0].std() > 10 and difference(band[0], band[-1]) < 1
    assert difference(band[0, :, :side], band[0, :, side:]) > 2  # two captions


@pytest.mark.parametrize(
    ("labellers", "by_true_reward", "expected"),
    [
        ({"oracle": 305}, False, "305 answers .* Answered by the computer, which knows the true reward\\."),
        ({"human": 1}, False, r"1 answer about pairs of short clips\. Answered by a person\."),
        ({"oracle": 3, "human": 4}, False, "7 answers .* clips: 4 by a person and 3 by the computer\\."),
        ({"human": 4, "guest: A": 2, "guest: B": 1, AUDIENCE: 2}, False, "4 by a person, 3 by guests and 2 by an aud"),
        ({"guest: Ada": 4, "guest: Alan": 5}, False, r"Answered by guests\."),
        ({AUDIENCE: 5}, False, r"Answered by an audience\."),
        ({}, False, "Before the first answer."),
        ({}, True, "Learned from the task's own reward."),
    ],
)
def test_the_title_names_the_labellers(labellers: dict[str, int], by_true_reward: bool, expected: str) -> None:
    assert re.search(expected, how_taught(labellers, by_true_reward))


def test_the_title_counts_the_answers_that_the_last_policy_had(taught: Path) -> None:
    everybody = labellers_of(taught, 1000)
    assert everybody == {"oracle": sum(everybody.values())}
    assert labellers_of(taught, 3) == {"oracle": 3} and labellers_of(taught, 0) == {}


def test_the_title_counts_no_answer_that_the_last_policy_did_not_have(tmp_path: Path) -> None:
    with closing(PreferenceStore(tmp_path / FOLDER)) as store:
        for number in range(6):
            store.add(query(number), Choice.CANT_TELL if number % 2 else Choice.LEFT, "human")
    assert labellers_of(tmp_path, 4) == {"human": 4}  # as many as the captions count, including can't tell


def test_the_title_describes_the_session_without_an_instruction_to_labellers(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = captions.write
    monkeypatch.setattr(
        captions, "write", lambda card, text, *a, **b: (written.append(text), write(card, text, *a, **b))
    )
    made(taught, tmp_path / "film.mp4", before_after=True)
    text = " ".join(written)
    labels = PreferenceStore(taught / FOLDER, read_only=True)
    with closing(labels):
        count = labels.count()
    assert f"{count} answers about pairs of short clips. Answered by the computer" in text.replace("  ", " ")
    assert "Choose the clip" not in text and get_task("reacher").title in written


def test_a_cancelled_film_job_leaves_no_partial_file(taught: Path, tmp_path: Path) -> None:
    making = events(taught, tmp_path / "film.mp4")
    for event in making:
        if isinstance(event, FilmProgressed) and event.share > 0.1:
            break
    assert [path.name for path in tmp_path.iterdir()] == ["film.mp4.part"]
    making.close()
    assert list(tmp_path.iterdir()) == []


def test_a_film_that_a_signal_stops_leaves_no_partial_file(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Any]
) -> None:
    monkeypatch.setattr(captions, "learning", lambda *given: signal.raise_signal(signal.SIGTERM))
    stopped = cli("film", taught, "--out", tmp_path / "film.mp4", code=128 + signal.SIGTERM)
    assert "stopped: run the command again." in stopped.err and not list(tmp_path.iterdir())


def test_a_long_figure_is_written_smaller() -> None:
    clip, long = (
        np.zeros((640, 640, 3), np.uint8),
        Caption("after 5,500 answers, 50.0M steps", "-1,234,567,890", "return"),
    )
    short = replace(long, figure="1")
    margin = np.s_[:, -32:]
    for draw in (
        lambda caption: captions.learning(clip, "Walk", caption, [0.0, 1.0], 0),
        lambda caption: captions.curve_card(640, [0.0, 1.0], 0, caption),
    ):
        assert np.array_equal(draw(long)[margin], draw(short)[margin])
    alone = replace(long, when="", measure="")
    both, figure, nothing = (
        captions.side_by_side([clip] * 2, [caption] * 2)
        for caption in (replace(long, measure=""), alone, replace(alone, figure=""))
    )
    words, digits = ((one != other).any(axis=(0, 2)) for one, other in ((both, figure), (figure, nothing)))
    assert words.any() and digits.any() and not (words & digits).any()  # they do not overlap


def test_a_damaged_policy_is_left_out_with_a_note(
    taught: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paths = PolicySnapshots(taught).files()
    whole = paths[2].read_bytes()
    paths[2].write_bytes(whole[:-5])
    try:
        _, sent = made(taught, tmp_path / "film.mp4")
    finally:
        paths[2].write_bytes(whole)
    assert isinstance(sent[-1], FilmMade) and "One earlier policy is damaged" in sent[-1].note
    assert "is damaged" in caplog.text


def refused(folder: Path, target: Path, height: int = HEIGHT) -> str:
    with pytest.raises(UserError) as error:
        list(events(folder, target, height=height))
    assert "\n" not in str(error.value) and str(error.value).endswith(".")
    return str(error.value)


def test_an_impossible_film_is_refused_in_one_sentence(taught: Path, tmp_path: Path) -> None:
    assert "can't be written" in refused(taught, tmp_path / "nowhere" / "film.mp4")
    assert ".mp4" in refused(taught, tmp_path / "film.gif")
    assert "multiple of 18" in refused(taught, tmp_path / "film.mp4", height=100)
    (tmp_path / "new").mkdir()
    Session.create(tmp_path / "new" / "s", tiny()).close()
    assert "teach for a minute first" in refused(tmp_path / "new" / "s", tmp_path / "film.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("known", "games", "steps", "expected"), [(4.25, 1, 300, 4.25), (float("nan"), 8, 4500, 3.5)], ids=["taught", "new"]
)
def test_a_game_is_judged_by_completed_games(
    monkeypatch: pytest.MonkeyPatch, known: float, games: int, steps: int, expected: float
) -> None:
    config = tiny(task="breakout", policy__vision="small")
    asked: list[tuple[int, ...]] = []

    def ended(env: Any, act: Any, each: int, limit: int, keep: int) -> Any:
        asked.append((env.count, each, limit, keep))
        return [(0.0, {"score_per_game": float(row)}) for row in range(env.count)], env.states[:1]

    monkeypatch.setattr(film, "run_episodes", ended)
    moment = SnapshotInfo(500, 1, 1.0, known)
    scene = FilmJob(config).make_scene(moment, state_arrays(build_policy(config)))
    assert asked == [(games, 1, steps, 300)] and scene.figure == expected


@pytest.mark.slow
def test_the_command_makes_a_film_or_explains_its_refusal_in_a_sentence(
    taught: Path, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    printed = cli("film", taught, "--out", tmp_path / "a.mp4", "--before-after", "--height", HEIGHT)
    assert f"wrote {tmp_path / 'a.mp4'}" in printed.err and (tmp_path / "a.mp4").stat().st_size > 1000
    assert "not a session" in cli("film", "none", "--out", "b.mp4", code=2).err


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_film_for_a_talk_leaves_out_pairs_without_pictures(tmp_path: Path) -> None:
    """The title, the part before, the curve and the part after remain."""
    folder, target = tmp_path / "s", tmp_path / "talk.mp4"
    played.taught(folder, tiny(task="gym:CartPole-v1", steps=8 * 32 * 8))
    job = build(JobSpec("talk", read_config(folder).to_dict()))
    job.receive(FilmRequested(str(folder), str(target), False, 108))
    assert any(isinstance(event, FilmMade) for event in job.run())  # ends the loop
    with av.open(str(target)) as container:
        assert sum(1 for _ in container.decode(video=0)) == (3 + 5 + 4 + 6) * 30


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_film_for_a_talk_shows_before_the_choices_the_curve_and_after(taught: Path, tmp_path: Path) -> None:
    """The film has a tenth of the usual height; its parts are located by their times, counted from the end."""
    folder, target, sent = tmp_path / "s", tmp_path / "talk.mp4", []
    shutil.copytree(taught, folder)
    with closing(PreferenceStore(folder / FOLDER)) as store:
        store.change(1, Choice.LEFT, AUDIENCE)
    append_votes(folder, 1, Choice.LEFT, {"a": Choice.LEFT, "b": Choice.LEFT, "c": Choice.RIGHT})
    job = build(JobSpec("talk", read_config(folder).to_dict()))
    job.receive(FilmRequested(str(folder), str(target), False, 108))
    for event in job.run():
        sent.append(event)
        if isinstance(event, FilmMade):
            break
    with av.open(str(target)) as container:
        frames = np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    assert frames.shape[1:] == (108, 192, 3) and 20 * 30 < len(frames) <= 30 * 30
    acting = read_config(taught)
    final = min(6 * 30, round(30 * 50 * get_task(acting.task).step_seconds))
    curve = len(frames) - final - 4 * 30
    for start in (curve - 3 * 120, curve - 2 * 120, curve - 120):
        asked, chosen = frames[start + 20], frames[start + 110]
        green = (chosen[..., 1].astype(int) - chosen[..., 0] > 60) & (chosen[..., 1] > 120)
        assert green[:96].sum() > 200 > (asked[:96, :, 1].astype(int) - asked[:96, :, 0] > 60).sum()  # the frame
        fewer, more = sorted([green[:96, :96].sum(), green[:96, 96:].sum()])
        assert more > 5 * fewer  # around one of the clips; the Reacher's fingertip is green too
    assert difference(frames[curve + 2], frames[curve + 115]) > 0.5  # the curve grows
    assert difference(frames[curve - 1], frames[curve + 2]) > 10 < difference(frames[curve + 115], frames[-1])
