"""The paper's figure 2 as one command that goes on where it was stopped."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from core.__main__ import main
from core.config import Config
from core.errors import UserError
from core.events import Event, PolicyUpdated
from core.headless import reproduce
from core.headless.charts import Curve, draw
from core.headless.reproduce import FIGURES, Run, figure
from core.headless.results import curves, points, share, tabulated
from core.session.session import Session

SETTINGS = {
    "rollout.environments": 8,
    "rollout.steps": 32,
    "rollout.threads": 1,
    "reward.hidden": 16,
    "reward.epochs_first": 3,
    "reward.epochs": 1,
    "policy.hidden": 16,
    "policy.epochs": 1,
    "policy.minibatch": 128,
}
STEPS = 8 * 32 * 30


class Shown:
    """What the runs show, until an event at which somebody presses Ctrl+C."""

    def __init__(self, stop_after: int = -1) -> None:
        self.titles: list[str] = []
        self.labels: list[int] = []
        self.updates = 0
        self._stop_after = stop_after

    @contextmanager
    def __call__(self, title: str, config: Config, labels: int) -> Iterator[Any]:
        self.titles.append(title)
        self.labels.append(labels)
        yield self.take

    def take(self, event: Event) -> None:
        if isinstance(event, PolicyUpdated):
            self.updates += 1
            if self.updates == self._stop_after:
                signal.raise_signal(signal.SIGINT)


def reproduced(out: Path, shown: Shown, seeds: tuple[int, ...] = (0,), settings: Any = SETTINGS) -> str:
    return figure(["pendulum"], [4, 6], seeds, STEPS, settings, out, shown)


def results(out: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_bytes()) for path in sorted((out / "runs").iterdir())}


def test_each_run_is_carried_out_once_and_told_of(tmp_path: Path) -> None:
    shown = Shown()
    table = reproduced(tmp_path / "out", shown)
    assert [title.split("] ")[1] for title in shown.titles] == [
        "pendulum, true reward, seed 0",
        "pendulum, 4 labels, seed 0",
        "pendulum, 6 labels, seed 0",
    ]
    found = results(tmp_path / "out")
    assert [r["labels"] for r in found.values()] == [4, 6, 0]
    assert all(r["env_steps"] == STEPS and r["curve"][-1][0] == STEPS for r in found.values())
    assert len({r["random_return"] for r in found.values()}) == 1  # the same untrained policy
    assert (tmp_path / "out" / "table.md").read_text() == table and table.count("\n") == 3
    assert not list((tmp_path / "out" / "sessions").iterdir())
    again = Shown()
    assert reproduced(tmp_path / "out", again) == table and again.titles == []


def test_a_run_that_was_stopped_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        reproduced(tmp_path / "stopped", Shown(stop_after=45))
    assert [path.stem for path in (tmp_path / "stopped" / "runs").iterdir()] == ["pendulum-true-0"]
    rest, whole = Shown(), Shown()
    assert reproduced(tmp_path / "stopped", rest) == reproduced(tmp_path / "whole", whole)
    assert len(rest.titles) == 2 and rest.updates < whole.updates - 30
    assert 0 < rest.labels[0] <= 4 and rest.labels[1] == 0 and whole.labels == [0, 0, 0]
    assert results(tmp_path / "stopped") == results(tmp_path / "whole")


def test_results_of_other_settings_are_refused(tmp_path: Path) -> None:
    reproduced(tmp_path / "out", Shown())
    with pytest.raises(UserError, match="other settings"):
        reproduced(tmp_path / "out", Shown(), settings={**SETTINGS, "policy.discount": 0.9})


def test_a_run_on_the_true_reward_is_as_good_for_another_predicted_reward(tmp_path: Path) -> None:
    """Nothing is asked in it and nothing fitted: it is the same run, and is not done again."""
    other = {**SETTINGS, "reward.epochs": 2, "query.half_life": 1000.0}
    reproduced(tmp_path / "out", Shown())
    (tmp_path / "out" / "runs" / "pendulum-4-0.json").unlink()
    with pytest.raises(UserError, match="pendulum-6-0.json was made with other settings"):
        reproduced(tmp_path / "out", Shown(), settings=other)
    (tmp_path / "out" / "runs" / "pendulum-6-0.json").unlink()
    shown = Shown()
    reproduced(tmp_path / "out", shown, settings=other)
    assert [title.split("] ")[1] for title in shown.titles] == [
        "pendulum, 4 labels, seed 0",
        "pendulum, 6 labels, seed 0",
    ]
    reproduced(tmp_path / "afresh", Shown(), settings=other)
    before, afresh = (results(tmp_path / name)["pendulum-true-0"] for name in ("out", "afresh"))
    assert before["curve"] == afresh["curve"]


def test_a_session_under_way_with_other_settings_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        reproduced(tmp_path / "out", Shown(stop_after=2))
    with pytest.raises(UserError, match="other settings"):
        reproduced(tmp_path / "out", Shown(), settings={**SETTINGS, "policy.discount": 0.9})
    reproduced(tmp_path / "out", Shown())  # it is not locked


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that are over at once, for what is only about their files."""

    def carried_out(run: Run, session: Session, show: Any) -> dict[str, Any]:
        session.close()
        made = made_up(run.kind, 100.0 + run.labels)
        return {**made, "task": run.task, "labels": run.labels, "config": session.config.to_dict()}

    monkeypatch.setattr(reproduce, "_carried_out", carried_out)


DAMAGES = {
    "cut": lambda text: text[:100],
    "empty": lambda text: "",
    "{}": lambda text: "{}",
    "[]": lambda text: "[]",
    "no curve": lambda text: text.replace('"curve"', '"carve"'),
    "a curve of words": lambda text: text.replace('"curve": [', '"curve": ["x", '),
    "a step beyond all numbers": lambda text: text.replace('"curve": [', f'"curve": [[1, {10**400}], '),
    "words for a number": lambda text: text.replace('"true_return": 106.0', '"true_return": "x"'),
    "a config of words": lambda text: text.replace('"seed": 0, "device"', '"seed": "x", "device"'),
}


@pytest.mark.usefixtures("quick")
def test_a_damaged_result_is_told_of_before_anything_is_carried_out(tmp_path: Path) -> None:
    out = tmp_path / "out"
    reproduced(out, Shown())
    (out / "runs" / "pendulum-true-0.json").unlink()
    last = out / "runs" / "pendulum-6-0.json"
    whole = last.read_text()
    for damage in DAMAGES.values():
        last.write_text(damage(whole))
        assert last.read_text() != whole
        shown = Shown()
        with pytest.raises(UserError, match=r"pendulum-6-0\.json is damaged: delete it") as told:
            reproduced(out, shown)
        assert shown.titles == [] and "\n" not in str(told.value)
    last.unlink()
    assert "| pendulum | 1 |" in reproduced(out, Shown())


def test_a_run_that_was_killed_in_mid_line_loses_no_other(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        reproduced(tmp_path, Shown(stop_after=20))
    (kept,) = (tmp_path / "sessions").glob("*/curve.jsonl")
    before = points(kept)
    kept.write_text(kept.read_text().removesuffix("]\n"))
    with pytest.raises(KeyboardInterrupt):
        reproduced(tmp_path, Shown(stop_after=3))
    after = points(kept)
    assert after[: len(before) - 1] == before[:-1] and len(after) >= len(before) + 2


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("left", [(), ("lock",), ("lock", "config.json.part")])
def test_what_is_left_of_a_session_that_was_killed_while_it_was_made_is_no_hindrance(
    tmp_path: Path, left: tuple[str, ...]
) -> None:
    folder = tmp_path / "out" / "sessions" / "pendulum-true-0"
    folder.mkdir(parents=True)
    for name in left:
        (folder / name).touch()
    assert "| pendulum | 1 |" in reproduced(tmp_path / "out", Shown())


@pytest.mark.usefixtures("quick")
def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    thesis = tmp_path / "out" / "sessions" / "pendulum-true-0" / "thesis.tex"
    thesis.parent.mkdir(parents=True)
    for name in ("lock", "thesis.tex"):
        thesis.with_name(name).touch()
    with pytest.raises(UserError, match="not an empty folder"):
        reproduced(tmp_path / "out", Shown())
    assert thesis.exists()


@pytest.mark.usefixtures("quick")
def test_a_session_that_outlived_its_result_is_removed(tmp_path: Path) -> None:
    reproduced(tmp_path / "out", Shown())
    Session.create(tmp_path / "out" / "sessions" / "pendulum-4-0", Config(task="pendulum")).close()
    reproduced(tmp_path / "out", Shown())
    assert list((tmp_path / "out" / "sessions").iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"seed": 5}, "--seeds"),
        ({"labels": 9}, "--labels"),
        ({"task": "ant"}, "--tasks"),
        ({"steps": 9}, "--steps"),
        ({"teacher": "none"}, "both always run"),
    ],
)
def test_what_has_an_option_of_its_own_is_no_setting(tmp_path: Path, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        reproduced(tmp_path / "out", Shown(), settings={**SETTINGS, **settings})
    assert not (tmp_path / "out").exists()


def test_a_task_that_cannot_be_made_is_told_of_before_anything_is_carried_out(tmp_path: Path) -> None:
    shown = Shown()
    with pytest.raises(UserError, match="Nowhere-v0 can't be made"):
        figure(["pendulum", "gym:Nowhere-v0"], [4], (0,), STEPS, SETTINGS, tmp_path / "out", shown)
    assert shown.titles == [] and not (tmp_path / "out").exists()


def test_a_chart_that_cannot_be_written_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "chart.png").mkdir()
    with pytest.raises(UserError, match=r"chart\.png can't be written"):
        draw(tmp_path / "chart.png", "Ant", [])


def test_a_place_that_cannot_be_written_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        reproduced(tmp_path / "file", Shown())


def made_up(kind: str, value: float, random: float = 10.0, seed: int = 0) -> dict[str, Any]:
    curve = [[100, value / 2], [200, value]]
    return {"task": "ant", "kind": kind, "seed": seed, "true_return": value, "random_return": random, "curve": curve}


def test_the_table_has_means_spreads_and_shares_over_the_seeds() -> None:
    made = [made_up("true reward", 110, seed=0), made_up("true reward", 90, seed=1)]
    made += [made_up("700 labels", 50, seed=0), made_up("700 labels", 60, seed=1)]
    head, _, line = tabulated(made).splitlines()
    assert head == "| task | seeds | random | true reward | 700 labels | share |"
    assert line == "| ant | 2 | 10.0 ± 0.0 | 100.0 ± 10.0 | 55.0 ± 5.0 | 0.50 |"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([-0.64, -0.62], "-0.630 ± 0.010"),
        ([0.0121, 0.0121], "0.0121 ± 0.0000"),
        ([2000.0, 2100.0], "2050.0 ± 50.0"),
        ([0.0, 0.0], "0.0 ± 0.0"),
        ([float("nan")], "nan ± nan"),
    ],
)
def test_small_returns_are_told_in_three_digits(values: list[float], told: str) -> None:
    made = [made_up("true reward", value, seed=seed) for seed, value in enumerate(values)]
    assert tabulated(made).splitlines()[2].split(" | ")[3].rstrip(" |") == told


def test_where_the_true_reward_gains_nothing_there_is_no_share() -> None:
    assert np.isnan(share([5.0], [3.0], [3.0]))


def test_curves_are_means_over_the_seeds_from_the_random_policy_on() -> None:
    made = [made_up("true reward", 110), made_up("true reward", 90, seed=1)]
    line, random = curves(made, "ant")
    assert (line.label, random.label) == ("true reward", "random")
    assert line.x[[0, -1]].tolist() == [0, 200]
    assert line.y[[0, -1]].tolist() == [10, 100] and line.spread[[0, -1]].tolist() == [0, 10]
    assert (random.y == 10).all()


def test_a_chart_shows_a_rising_curve_in_its_colour(tmp_path: Path) -> None:
    x = np.linspace(0, 100, 50)
    draw(tmp_path / "chart.png", "Ant", [Curve("true reward", x, 3 * x, np.zeros(50))])
    image = cv2.imread(str(tmp_path / "chart.png"))
    assert image is not None
    plain = (image[90:520, 120:920] == (0, 120, 230)).all(axis=2)
    rows, columns = np.nonzero(plain[60:])  # below the legend
    assert np.corrcoef(rows, columns)[0, 1] < -0.99


def test_a_chart_without_curves_is_only_its_title(tmp_path: Path) -> None:
    draw(tmp_path / "chart.png", "Ant", [])
    image = cv2.imread(str(tmp_path / "chart.png"))
    assert image is not None and (image[100:] == 255).all() and image.min() < 100


def test_what_was_reported_twice_counts_as_it_was_last(tmp_path: Path) -> None:
    (tmp_path / "curve").write_text("[10, 1.0]\n[20, 2.0]\n[20, 5.0]\n[30, 6.0]\n")
    assert points(tmp_path / "curve") == [(10, 1.0), (20, 5.0), (30, 6.0)]


@pytest.mark.parametrize("torn", [b"[20, 2.", b"", b"[20]", b"20", b"null", b'["a", 1]', b"[NaN, 1]", b"\x00\xff"])
def test_a_line_that_is_not_whole_is_passed_over(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / "curve").write_bytes(b"[10, 1.0]\n" + torn + b"\n[30, 6.0]\n")
    assert points(tmp_path / "curve") == [(10, 1.0), (30, 6.0)]


def test_a_run_differs_from_true_reward_in_its_teacher_alone() -> None:
    preferred, true = (Run("ant", labels, 3).config(500, {}).to_dict() for labels in (700, 0))
    assert {name for name in true if true[name] != preferred[name]} == {"teacher", "labels"}
    assert true["seed"] == 3 and true["steps"] == 500


def test_figure_3_is_about_games_and_figure_2_about_robots() -> None:
    tasks, labels, seeds = FIGURES["fig3"]
    assert tasks == ("beam-rider", "breakout", "enduro", "pong", "qbert", "seaquest", "space-invaders")
    assert (labels, seeds) == ((350, 700, 1400, 3300, 5500), 3)
    assert (len(FIGURES["fig2"][0]), *FIGURES["fig2"][1:]) == (8, (350, 700, 1400), 5)


def test_a_task_of_pictures_is_reproduced_and_gone_on_with_like_any_other(block_task: str, tmp_path: Path) -> None:
    small = {**SETTINGS, "rollout.steps": 16, "reward.minibatch": 8, "policy.minibatch": 64}
    shown, again = Shown(), Shown()
    table = figure([block_task], [4], (0,), 8 * 16 * 4, small, tmp_path / "out", shown)
    assert len(shown.titles) == 2 and table.splitlines()[2].startswith(f"| {block_task} | 1 |")
    assert (tmp_path / "out" / f"{block_task}.png").exists()
    assert figure([block_task], [4], (0,), 8 * 16 * 4, small, tmp_path / "out", again) == table
    assert again.titles == []


def test_the_command_knows_both_figures(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[Any, ...]] = []

    def carried_out(*given: Any) -> str:
        asked.append(given)
        return ""

    monkeypatch.setattr("core.headless.reproduce.figure", carried_out)
    for words in (["fig3", "--steps", "9"], ["fig2"], ["fig3", "--tasks", "pong", "--labels", "5", "--seeds", "7"]):
        monkeypatch.setattr("sys.argv", ["core", "reproduce", *words, "--out", "x"])
        assert main() == 0
    assert [tuple(given[0]) for given in asked] == [FIGURES["fig3"][0], FIGURES["fig2"][0], ("pong",)]
    assert [list(given[1]) for given in asked] == [[350, 700, 1400, 3300, 5500], [350, 700, 1400], [5]]
    assert [list(given[2]) for given in asked] == [[0, 1, 2], [0, 1, 2, 3, 4], [7]]
    assert [given[3] for given in asked] == [9, None, None]
