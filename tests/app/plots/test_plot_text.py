"""What is recorded, and what a plot says of it in words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.labelling.progress import Progress
from app.plots import plot_text
from app.plots.axes import round_ticks
from app.plots.plot_specs import STEPS, groups
from app.session import metrics_recorder
from app.session.metrics_recorder import EpisodeRewards, record
from app.style.palette import DARK
from core.config import Config, RewardConfig
from core.events import DemonstrationRecorded
from core.metrics import Metrics
from core.tasks import get_task
from tests.app.fakes import make_segment
from tests.app.tape import FIT, report

PLOTS = {one.key: one for group in groups(get_task("hopper-backflip"), RewardConfig()).values() for one in group}


def episode(predicted: list[float], true: list[float] | None) -> EpisodeRewards:
    rewards = None if true is None else np.array(true, np.float32)
    segment = replace(make_segment(), true_rewards=rewards)
    return EpisodeRewards.of(DemonstrationRecorded(segment, np.array(predicted, np.float32), 7), 0.5)


def test_fits_are_dated_by_the_last_report() -> None:
    metrics, progress = Metrics(), Progress(Config())
    progress.reported(2500)
    record(report(2500, 1.0, 2.0, 3.0), metrics, progress)
    record(FIT, metrics, progress)
    assert metrics.snapshot(metrics_recorder.loss_ratio(2))[0].tolist() == [2.5]
    assert metrics.snapshot(metrics_recorder.loss_ratio(2))[1].tolist() == [1.25]
    assert metrics.snapshot(metrics_recorder.weight_decay(1))[1].tolist() == [1e-3]
    assert np.isnan(metrics.snapshot(metrics_recorder.SPEED)[1]).all()  # one report is no pace


@pytest.mark.parametrize(
    ("true", "said"),
    [
        ([0, 1, 2, 3, 4, 5], "Predicted and true reward agree closely (r = 1.00)."),
        ([0, 2, 1, 4, 2, 5], "Predicted and true reward agree (r = 0.80)."),
        ([1, 0, 1, 0, 1, 1], "Predicted and true reward are unrelated (r = 0.21)."),
        ([5, 4, 3, 2, 1, 0], "Predicted and true reward disagree (r = -1.00)."),
        ([1, 1, 1, 1, 1, 1], ""),
        ([math.nan] * 6, ""),
        (None, ""),
    ],
)
def test_how_they_go_together_is_said_in_words(true: list[float] | None, said: str) -> None:
    assert plot_text.agreement_text(episode([0, 1, 2, 3, 4, 5], true)) == said


def test_an_episode_has_its_own_time() -> None:
    x, y = episode([0, 1, 2, 3, 4, 5], None).snapshot(EpisodeRewards.PREDICTED)
    assert (x.tolist(), y.tolist()) == ([0, 0.5, 1, 1.5, 2, 2.5], [0, 1, 2, 3, 4, 5])
    assert len(episode([0] * 6, None).snapshot(EpisodeRewards.TRUE)[0]) == 0


def test_before_the_first_reward_an_episode_has_only_its_true_one() -> None:
    untaught = episode([], [0, 1, 2, 3, 4, 5])
    assert (
        len(untaught.snapshot(EpisodeRewards.PREDICTED)[0]) == 0 and len(untaught.snapshot(EpisodeRewards.TRUE)[0]) == 6
    )
    assert plot_text.agreement_text(untaught) == ""


def test_values_at_a_place_are_those_recorded_by_then() -> None:
    metrics = Metrics()
    metrics.append(metrics_recorder.LABELS, 1.0, 5)
    metrics.append(metrics_recorder.SCHEDULE, 2.0, 0.1 + 0.2)
    found = plot_text.values_at(PLOTS["answers"], metrics, False, 1.2)
    assert found and found[0] == 1.0
    assert found[1][0][1] == 5 and math.isnan(found[1][1][1])
    found = plot_text.values_at(PLOTS["answers"], metrics, False, 99)
    assert found and (found[0], [value for _, value in found[1]]) == (2.0, [5, 0.1 + 0.2])
    assert plot_text.values_at(PLOTS["loss"], metrics, False, 1.0) is None


def test_the_headline_has_the_newest_number_and_of_members_the_mean() -> None:
    metrics = Metrics()
    assert plot_text.headline(PLOTS["loss"], metrics, False) == "Loss"
    for member, loss in enumerate((0.1, 0.2, 0.6)):
        metrics.append(metrics_recorder.train_loss(member), 1.0, loss)
        metrics.append(metrics_recorder.train_loss(member), 2.0, math.nan)
        metrics.append(metrics_recorder.validation_loss(member), 1.0, 9.0)
    assert plot_text.headline(PLOTS["loss"], metrics, False) == "Loss:  0.3"


def test_the_key_names_what_is_shown_and_on_which_scale() -> None:
    both, one = (plot_text.legend(PLOTS["return"], hidden, DARK) for hidden in (False, True))
    assert "predicted (left)" in both and "true (right)" in both
    assert "predicted" in one and "true" not in one


@pytest.mark.parametrize(("x", "said"), [(0, "0"), (0.5, "0.5k"), (999, "999k"), (1000, "1M"), (2500, "2.5M")])
def test_steps_on_the_scale_are_short(x: float, said: str) -> None:
    assert STEPS.tick(x) == said


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1e-4, 1.9e-4, [1e-4, 1.5e-4]),
        (1e-4, 1.5e-3, [1e-4, 2e-4, 5e-4, 1e-3]),
        (0.9e-4, 2e-1, [1e-4, 1e-3, 1e-2, 1e-1]),
    ],
)
def test_ticks_of_a_logarithmic_scale_are_few_and_round(low: float, high: float, ticks: list[float]) -> None:
    assert round_ticks(low, high) == pytest.approx(ticks)
    assert 2 <= len(round_ticks(1e-30, 1e30)) <= 9
