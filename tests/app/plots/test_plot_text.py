"""Recorded figures and the texts of plots about them."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from app.labelling.progress import Progress
from app.plots import plot_text
from app.plots.figure import Line, PlotFigure
from app.plots.plot_specs import groups
from app.session import metrics_recorder
from app.session.metrics_recorder import episode_metrics, of_member, record
from app.style.palette import LIGHT
from core.config import Config, RewardConfig
from core.events import DemonstrationRecorded
from core.metrics import Metrics
from core.tasks import get_task
from tests.app.fakes import make_segment
from tests.app.tape import report

PLOTS = {one.key: one for group in groups(get_task("hopper-backflip"), RewardConfig()).values() for one in group}


def test_names_are_shown_unchanged() -> None:
    spec = PLOTS["measure"]
    curve = replace(spec.curves[0], name="below <0.8 m & <b>", short="")
    words = plot_text.readout("1", [(curve, 2.0)], LIGHT)
    assert "below &lt;0.8 m &amp; &lt;b&gt;" in words
    both = replace(spec, curves=(curve, curve), legend="")
    assert "below &lt;0.8 m &amp; &lt;b&gt;" in plot_text.legend(both, False, LIGHT)


def episode(predicted: list[float], true: list[float] | None) -> Metrics:
    rewards = None if true is None else np.array(true, np.float32)
    segment = replace(make_segment(), true_rewards=rewards)
    return episode_metrics(DemonstrationRecorded(segment, np.array(predicted, np.float32), 7), 0.5)


@pytest.mark.parametrize(
    ("true", "said"),
    [
        ([0, 1, 2, 3, 4, 5], "Predicted and true reward agree closely (r = 1.00)."),
        ([1, 0, 1, 0, 1, 1], "Predicted and true reward are unrelated (r = 0.21)."),
        ([5, 4, 3, 2, 1, 0], "Predicted and true reward disagree (r = -1.00)."),
        ([math.nan] * 6, ""),
        (None, ""),
    ],
)
def test_the_correlation_is_described_in_words(true: list[float] | None, said: str) -> None:
    assert plot_text.agreement_text(episode([0, 1, 2, 3, 4, 5], true)) == said


def test_without_held_out_answers_no_validation_loss_is_plotted() -> None:
    specs = [one for group in groups(get_task("hopper-backflip"), RewardConfig(holdout=0.0)).values() for one in group]
    assert "ratio" in PLOTS and "ratio" not in [spec.key for spec in specs]
    (loss,) = [spec for spec in specs if spec.key == "loss"]
    assert [curve.name for curve in loss.curves] == ["training 1", "training 2", "training 3"]
    assert loss.legend == "one line per predictor"  # describes the three lines


def test_a_figure_named_like_a_built_in_series_is_plotted_separately() -> None:
    metrics, progress = Metrics(), Progress(Config())
    figures = {"correlation": 77.0, "labels": 9.0, "height": 1.0}
    record(replace(report(1000), correlation=0.5, measure=figures), metrics, progress)
    task = replace(get_task("hopper-backflip"), plots=dict.fromkeys(figures, "Figure"))
    plots = {one.key: one for group in groups(task, RewardConfig()).values() for one in group}
    drawn = {name: metrics.snapshot(plots[f"figure-{name}"].curves[0].series)[1].tolist() for name in figures}
    assert drawn == {name: [value] for name, value in figures.items()}
    assert metrics.snapshot(metrics_recorder.CORRELATION)[1].tolist() == [0.5]


def test_the_headline_has_the_newest_value_or_the_mean_over_the_members() -> None:
    metrics = Metrics()
    assert plot_text.headline(PLOTS["loss"], metrics, False) == "Loss"
    for member, loss in enumerate((0.1, 0.2, 0.6)):
        metrics.append(of_member(metrics_recorder.TRAIN_LOSS, member), 1.0, loss)
        metrics.append(of_member(metrics_recorder.TRAIN_LOSS, member), 2.0, math.nan)
        metrics.append(of_member(metrics_recorder.VALIDATION_LOSS, member), 1.0, 9.0)
    assert plot_text.headline(PLOTS["loss"], metrics, False) == "Loss: 0.3"
    metrics.append(metrics_recorder.PREDICTED, 1.0, 123.4)
    assert plot_text.headline(PLOTS["return"], metrics, False) == "Return: 123 on average"


def test_a_saved_figure_shows_large_numbers_and_all_names_whole() -> None:
    x = np.array([0.0, 1.0])
    names = [f"{kind} {number}" for number in (1, 2, 3) for kind in ("training", "validation")]
    lines = [Line(name, x, 2e6 * x, "#123456") for name in names]
    lines += [Line("return", x, -150_000 * x, "#123456", right=True)]
    figure = PlotFigure("title", "below", "steps", "loss", "return", tuple(lines), (0.0, 1.0), str)
    texts = {text.strip() for text in re.findall(r"<text[^>]*>([^<]*)<", figure.as_svg().decode())}
    assert {*names, "2,000,000", "-150,000"} <= texts
