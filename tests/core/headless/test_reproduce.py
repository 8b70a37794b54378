"""The paper's figure 2 as one command that goes on where it was stopped."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
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
from core.headless.charts import Curve, draw_chart
from core.headless.reproduce import FIGURES, Run, figure_runs, reproduce, train
from core.headless.results import average_curves, read_curve, to_table
from core.session.session import Session
from core.types import Teacher
from tests.core.builders import QUICK

STEPS = 8 * 32 * 10


class Shown:
    """Titles and events of the runs, until an event at which somebody presses Ctrl+C."""

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


def reproduced(out: Path, shown: Shown, settings: Any = QUICK, train: Any = train) -> str:
    return reproduce(figure_runs("fig2", ["reacher"], [4, 6], [0]), STEPS, settings, out, shown, train)


def results(out: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_bytes()) for path in sorted((out / "runs").iterdir())}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Shown, str]:
    """A figure that was never interrupted: its folder, what it showed, and its table."""
    out, shown = tmp_path_factory.mktemp("whole") / "out", Shown()
    return out, shown, reproduced(out, shown)


def test_each_run_is_done_once(whole: tuple[Path, Shown, str]) -> None:
    out, shown, table = whole
    assert [title.split("] ")[1] for title in shown.titles] == [
        "reacher, true reward, seed 0",
        "reacher, 4 labels, seed 0",
        "reacher, 6 labels, seed 0",
    ]
    found = results(out)
    assert [r["labels"] for r in found.values()] == [4, 6, 0]
    assert all(r["env_steps"] == STEPS and r["curve"][-1][0] == STEPS for r in found.values())
    assert len({r["random_return"] for r in found.values()}) == 1  # the same untrained policy
    assert (out / "table.md").read_text() == table and table.count("\n") == 3
    assert (out / "reacher.png").exists() and not list((out / "sessions").iterdir())
    again = Shown()
    assert reproduced(out, again) == table and again.titles == []


def test_a_run_that_was_killed_continues_and_ends_as_if_it_had_not_been(
    whole: tuple[Path, Shown, str], tmp_path: Path
) -> None:
    out, shown, table = whole
    with pytest.raises(KeyboardInterrupt):
        reproduced(tmp_path, Shown(stop_after=16))
    assert [path.stem for path in (tmp_path / "runs").iterdir()] == ["reacher-true-0"]
    (curve,) = (tmp_path / "sessions").glob("*/curve.jsonl")
    curve.write_text(curve.read_text() + "[20")  # killed in the middle of a line
    with pytest.raises(UserError, match="reacher-4-0 was made with other settings"):
        reproduced(tmp_path, Shown(), settings={**QUICK, "reward.epochs": 2})
    rest = Shown()
    assert reproduced(tmp_path, rest) == table
    assert len(rest.titles) == 2 and rest.updates < shown.updates - 12
    assert 0 < rest.labels[0] <= 4 and rest.labels[1] == 0 and shown.labels == [0, 0, 0]
    assert results(tmp_path) == results(out)


def test_a_run_on_the_true_reward_does_not_depend_on_the_settings_of_the_predicted_reward(tmp_path: Path) -> None:
    other = {**QUICK, "reward.epochs": 2, "query.half_life": 1000.0}
    reproduced(tmp_path, Shown(), train=quickly)
    (tmp_path / "runs" / "reacher-4-0.json").unlink()
    with pytest.raises(UserError, match="reacher-6-0.json was made with other settings"):
        reproduced(tmp_path, Shown(), other, quickly)
    (tmp_path / "runs" / "reacher-6-0.json").unlink()
    shown = Shown()
    reproduced(tmp_path, shown, other, quickly)
    assert len(shown.titles) == 2 and not any("true reward" in title for title in shown.titles)


def quickly(run: Run, session: Session, listener: Any) -> dict[str, Any]:
    """A run that ends at once, for tests of the files alone."""
    session.close()
    made = made_up(run.kind, 100.0 + run.labels)
    return {**made, "task": run.task, "labels": run.labels, "config": session.config.to_dict()}


DAMAGES = {
    "cut": lambda text: text[:100],
    "[]": lambda text: "[]",
    "no curve": lambda text: text.replace('"curve"', '"carve"'),
    "a step beyond all numbers": lambda text: text.replace('"curve": [', f'"curve": [[1, {10**400}], '),
    "words for a number": lambda text: text.replace('"true_return": 106.0', '"true_return": "x"'),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_result_is_refused_before_the_first_run(tmp_path: Path, damage: Callable[[str], str]) -> None:
    reproduced(tmp_path, Shown(), train=quickly)
    (tmp_path / "runs" / "reacher-true-0.json").unlink()
    last = tmp_path / "runs" / "reacher-6-0.json"
    intact = last.read_text()
    last.write_text(damage(intact))
    assert last.read_text() != intact
    shown = Shown()
    with pytest.raises(UserError, match=r"reacher-6-0\.json is damaged: delete it") as error:
        reproduced(tmp_path, shown, train=quickly)
    assert shown.titles == [] and "\n" not in str(error.value)


def test_what_is_left_of_a_session_that_was_killed_while_it_was_made_is_no_hindrance(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "sessions" / "reacher-true-0"
    folder.mkdir(parents=True)
    for name in ("lock", "config.json.part"):
        (folder / name).touch()
    assert "| reacher | 1 |" in reproduced(tmp_path / "out", Shown(), train=quickly)


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    thesis = tmp_path / "out" / "sessions" / "reacher-true-0" / "thesis.tex"
    thesis.parent.mkdir(parents=True)
    for name in ("lock", "thesis.tex"):
        thesis.with_name(name).touch()
    with pytest.raises(UserError, match="not an empty folder"):
        reproduced(tmp_path / "out", Shown(), train=quickly)
    assert thesis.exists()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"seed": 5}, "--seeds"),
        ({"labels": 9}, "--labels"),
        ({"task": "ant"}, "--tasks"),
        ({"steps": 9}, "--steps"),
        ({"teacher": "none"}, "there are always runs"),
    ],
)
def test_what_has_an_option_of_its_own_is_no_setting(tmp_path: Path, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        reproduced(tmp_path / "out", Shown(), settings={**QUICK, **settings})
    assert not (tmp_path / "out").exists()


def test_a_task_that_cannot_be_made_is_told_of_before_anything_is_carried_out(tmp_path: Path) -> None:
    shown = Shown()
    with pytest.raises(UserError, match="No environment named Nowhere-v0"):
        reproduce(figure_runs("fig2", ["reacher", "gym:Nowhere-v0"], [4], [0]), STEPS, QUICK, tmp_path / "out", shown)
    assert shown.titles == [] and not (tmp_path / "out").exists()


def made_up(kind: str, value: float, random: float = 10.0, seed: int = 0) -> dict[str, Any]:
    curve = [[100, value / 2], [200, value]]
    return {"task": "ant", "kind": kind, "seed": seed, "true_return": value, "random_return": random, "curve": curve}


def test_the_table_has_means_spreads_and_shares_over_the_seeds() -> None:
    made = [made_up("true reward", 110, seed=0), made_up("true reward", 90, seed=1)]
    made += [made_up("700 labels", 50, seed=0), made_up("700 labels", 60, seed=1)]
    head, _, line = to_table(made).splitlines()
    assert head == "| task | seeds | random | true reward | 700 labels | share |"
    assert line == "| ant | 2 | 10.0 ± 0.0 | 100.0 ± 10.0 | 55.0 ± 5.0 | 0.50 |"


def test_curves_are_means_over_the_seeds_from_the_random_policy_on() -> None:
    made = [made_up("true reward", 110), made_up("true reward", 90, seed=1)]
    line, random = average_curves(made, "ant")
    assert (line.label, random.label) == ("true reward", "random")
    assert line.x[[0, -1]].tolist() == [0, 200]
    assert line.y[[0, -1]].tolist() == [10, 100] and line.spread[[0, -1]].tolist() == [0, 10]
    assert (random.y == 10).all()


def test_a_chart_shows_a_rising_curve(tmp_path: Path) -> None:
    x = np.linspace(0, 100, 50)
    draw_chart(tmp_path / "chart.png", "Ant", [Curve("true reward", x, 3 * x, np.zeros(50))])
    image = cv2.imread(str(tmp_path / "chart.png"))
    assert image is not None and image.shape == (600, 960, 3)
    orange = (np.abs(image.astype(int) - (14, 127, 255)).sum(axis=2) < 30)[120:]  # tab:orange, below the legend
    rows, columns = np.nonzero(orange)
    assert len(rows) > 100 and np.corrcoef(rows, columns)[0, 1] < -0.99


def test_without_matplotlib_there_is_a_table_and_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(UserError, match=r"pip install matplotlib"):
        draw_chart(tmp_path / "chart.png", "Ant", [])
    assert "| reacher | 1 |" in reproduced(tmp_path / "out", Shown(), train=quickly)
    assert "There will be no charts" in caplog.text and not list((tmp_path / "out").glob("*.png"))


@pytest.mark.parametrize("torn", [b"[20, 2.", b"", b"20", b'["a", 1]', b"[NaN, 1]", b"\x00\xff"])
def test_a_line_that_is_not_whole_is_passed_over_and_the_last_of_two_counts(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / "curve").write_bytes(b"[10, 0.5]\n[10, 1.0]\n" + torn + b"\n[30, 6.0]\n")
    assert read_curve(tmp_path / "curve") == [(10, 1.0), (30, 6.0)]


def test_a_run_differs_from_true_reward_in_its_teacher_alone() -> None:
    runs = Run("ant", 700, 3, Teacher.ORACLE), Run("ant", 0, 3, Teacher.NONE)
    preferred, true = (run.config(500, {}).to_dict() for run in runs)
    assert {name for name in true if true[name] != preferred[name]} == {"teacher", "labels"}
    assert true["seed"] == 3 and true["steps"] == 500


def test_the_command_knows_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def carried_out(*given: Any) -> str:
        asked.append(given)
        return ""

    monkeypatch.setattr("core.headless.reproduce.reproduce", carried_out)
    only = ["--tasks", "pong", "--labels", "5", "--seeds", "7"]
    for words in (["fig3", "--steps", "9"], ["fig2"], ["fig3", *only], ["person", *only, "--teachers", "person"]):
        monkeypatch.setattr("sys.argv", ["core", "reproduce", *words, "--out", "x"])
        assert main() == 0
    by_figure = [figure_runs(name, *FIGURES[name][:2], range(FIGURES[name][2])) for name in ("fig3", "fig2")]
    assert [given[0] for given in asked[:2]] == by_figure
    assert {run.labels for run in by_figure[0]} == {0, 350, 700, 1400, 3300, 5500}
    assert asked[2][0] == [Run("pong", 0, 7, Teacher.NONE), Run("pong", 5, 7, Teacher.ORACLE)]
    assert asked[3][0] == [Run("pong", 5, 7, Teacher.PERSON, default=True)]
    assert [given[1] for given in asked] == [9, None, None, None]


def test_in_the_figure_of_the_person_all_teachers_have_the_same_steps_and_settings() -> None:
    runs = figure_runs("person", ["ant"], [50, 100], [3])
    assert [run.kind for run in runs] == [
        "true reward",
        *(kind for count in (50, 100) for kind in (f"{count} labels", f"person, {count} labels")),
    ]
    configs = [run.config(None, {}).to_dict() for run in runs]
    assert configs[0]["steps"] == configs[-1]["steps"] > configs[1]["steps"]
    assert {name for name in configs[0] if configs[0][name] != configs[-1][name]} == {"teacher"}
