"""Tables and charts of a sweep's results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from pathlib import Path

import cv2
import numpy as np
import pytest

from core.errors import UserError
from core.sweep.charts import Curve, draw_chart
from core.sweep.results import Result, Results, average_curves, read_curve, to_rows, to_table


def made_up(curve: str, value: float, random: float = 10.0, seed: int = 0) -> Result:
    return Result("ant", curve, seed, [[100, value / 2], [200, value]], value, random)


def results(found: Sequence[Result], seeds: int = 0) -> Results:
    """Return results of a plan of these tasks and curves, with the seeds found or the given number of them."""
    named = [dict.fromkeys(getattr(result, name) for result in found) for name in ("task", "curve", "seed")]
    return Results(tuple(named[0]), tuple(named[1]), tuple(range(seeds or len(named[2]))), found)


def test_the_table_has_means_spreads_and_shares_over_the_seeds() -> None:
    made = [made_up("true reward", 110, seed=0), made_up("true reward", 90, seed=1)]
    made += [made_up("700 labels", 50, seed=0), made_up("700 labels", 60, seed=1)]
    head, _, line = to_table(results(made)).splitlines()
    assert head == "| task | seeds | random | true reward | 700 labels | share |"
    assert line == "| ant | 2 | 10.0 ± 0.0 | 100.0 ± 10.0 | 55.0 ± 5.0 | 0.50 |"


def test_shares_use_the_seeds_of_both_curves_and_missing_seeds_are_named() -> None:
    made = [made_up("true reward", 110, seed=0), made_up("700 labels", 60, seed=0), made_up("700 labels", 500, seed=1)]
    line = to_table(results(made)).splitlines()[2]
    assert "| 110.0 ± 0.0 (1 of 2) |" in line and line.endswith("| 0.50 |")
    assert to_rows(results(made))[1]["share"] == 0.5


def test_the_untrained_policy_is_averaged_over_all_seeds_and_over_those_of_each_row() -> None:
    made = [
        made_up("true reward", 110, 10, seed=0),
        *(made_up("700 labels", 60, 10 + 10 * s, seed=s) for s in range(3)),
    ]
    assert to_table(results(made)).splitlines()[2].startswith("| ant | 3 | 20.0 ± 8.2 | 110.0 ± 0.0 (1 of 3) |")
    assert [row["random"] for row in to_rows(results(made))] == [10, 20]
    assert average_curves(results(made), "ant")[-1].y[0] == 20


def test_curves_are_means_over_the_seeds_from_the_random_policy_on() -> None:
    made = [made_up("true reward", 110), made_up("true reward", 90, seed=1)]
    line, random = average_curves(results(made), "ant")
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


def test_a_curve_ends_with_its_runs() -> None:
    short = replace(made_up("350 labels", 50), points=[[50, 20.0], [100, 50.0]])
    long, line, _ = average_curves(results([made_up("true reward", 110), short]), "ant")
    assert np.isnan(line.y[line.x > 100]).all() and not np.isnan(line.y[line.x <= 100]).any()
    assert not np.isnan(long.y).any()


def test_the_table_for_programs_has_the_same_numbers_and_each_seeds_return() -> None:
    made = [made_up("true reward", 110, seed=0), made_up("true reward", 90, seed=1), made_up("700 labels", 55, seed=0)]
    true, few = to_rows(results(made))
    assert (true["seeds"], true["true_returns"], true["mean"], true["std"]) == ([0, 1], [110, 90], 100, 10)
    assert (few["curve"], few["random"], few["share"]) == ("700 labels", 10, 0.45) and np.isnan(true["share"])


def test_missing_results_are_marked() -> None:
    other = replace(made_up("700 labels", 50), task="reacher")
    _, _, ant, reacher = to_table(results([made_up("true reward", 110), other])).splitlines()
    assert ant.endswith("| none |  |") and reacher == "| reacher | 1 | 10.0 ± 0.0 | none | 50.0 ± 0.0 |  |"
    untrained_lost = replace(made_up("700 labels", 70, seed=2), random_return=nan)
    found = [made_up("700 labels", 50), made_up("700 labels", nan, seed=1), untrained_lost]
    lost = Results(("ant", "hopper"), ("700 labels",), (0, 1, 2), found)
    assert to_table(lost).splitlines()[2:] == [
        "| ant | 3 | 10.0 ± 0.0 (1 of 3) | 50.0 ± 0.0 (1 of 3) |",
        "| hopper | 3 |  | none |",
    ]
    assert [row["mean"] for row in to_rows(lost)] == [50]
    assert average_curves(lost, "ant")[0].label == "700 labels (1 of 3)" and average_curves(lost, "hopper") == []


def test_a_true_reward_that_gains_nothing_gives_no_share() -> None:
    made = [made_up("true reward", -1300, -1200), made_up("700 labels", -1000, -1200)]
    assert np.isnan(to_rows(results(made))[1]["share"]) and to_table(results(made)).endswith("| -1000.0 ± 0.0 |  |\n")


def test_a_share_is_of_the_gain_over_its_own_runs_untrained_policy() -> None:
    true, other = made_up("true reward", 110, 10), made_up("with another clock", 120, 20)
    for made in ([true, other], [other, true]):
        assert {row["curve"]: row["share"] for row in to_rows(results(made))}["with another clock"] == 1
        assert {row["curve"]: row["random"] for row in to_rows(results(made))} == {true.curve: 10, other.curve: 20}


def test_names_are_not_interpreted_as_markup(tmp_path: Path) -> None:
    assert to_table(results([made_up("a | b", 5)])).startswith(r"| task | seeds | random | a \| b |")
    x = np.linspace(0, 100, 50)
    draw_chart(tmp_path / "chart.png", "$5 {a$", [Curve(r"gain $\foo$", x, x, np.zeros(50))])


def test_names_that_the_font_can_not_show_give_one_sentence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    x = np.linspace(0, 100, 50)
    draw_chart(tmp_path / "chart.png", "hopper", [Curve("日本", x, x, np.zeros(50))])
    assert [record.message.partition(":")[0] for record in caplog.records] == ["chart.png"]


def test_without_matplotlib_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(UserError, match=r"pip install matplotlib"):
        draw_chart(tmp_path / "chart.png", "Ant", [])


@pytest.mark.parametrize("torn", [b"[20, 2.", b"", b"20", b'["a", 1]', b"[NaN, 1]", b"[[1], 2]", b"\x00\xff"])
def test_an_incomplete_line_is_skipped_and_the_last_of_two_counts(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / "curve").write_bytes(b"[10, 0.5]\n[10, 1.0]\n" + torn + b"\n[30, 6.0]\n")
    assert read_curve(tmp_path / "curve") == [(10, 1.0), (30, 6.0)]


def test_a_long_curve_is_thinned_out_evenly_up_to_its_last_point(tmp_path: Path) -> None:
    (tmp_path / "curve").write_text("".join(f"[{80 * n}, {n}]\n" for n in range(1, 20_001)))
    curve = read_curve(tmp_path / "curve")
    assert curve == [(80 * n, float(n)) for n in range(4, 20_001, 4)]
