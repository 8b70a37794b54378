"""Plots of the figures reported by the jobs, in a real window."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QImage
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.keys.commands import Command
from app.live.demonstrations import Demonstration
from app.plots.figure import log_text
from app.plots.plot_canvas import ValueAxis
from app.style import theme
from app.style.palette import LIGHT
from core.session import metrics_file
from tests.app.fakes import Face, make_frames, make_query
from tests.app.tape import (
    PREDICTED_REWARDS,
    TRUE_RETURNS,
    TRUE_REWARDS,
    X,
    drawn,
    has_colour,
    plot,
    report,
    show_true_reward,
    teaching,
    words,
)

_MEASURE = "Backflips per episode (8 s)"


def test_each_plot_shows_the_reported_figures(open_face: Callable[..., Face]) -> None:
    face = teaching(open_face)
    show_true_reward(face)
    assert drawn(plot(face, "measure")) == {_MEASURE: (X, [0.5, 1.5, 2.5])}
    assert drawn(plot(face, "return")) == {"predicted return": (X, [4.5, 5.5, 6.5]), "true return": (X, TRUE_RETURNS)}
    losses = {"training 1": 0.5, "validation 1": 0.6, "training 2": 0.25, "validation 2": None, "training 3": 0.8}
    assert drawn(plot(face, "loss")) == {name: ([3.0], [y]) for name, y in {**losses, "validation 3": 1.0}.items()}
    ratios = {"ratio 1": 0.6 / 0.5, "ratio 2": None, "ratio 3": 1.0 / 0.8}
    decays = {"L2 1": -4.0, "L2 2": -3.0, "L2 3": -2.0}  # a logarithmic scale
    assert drawn(plot(face, "ratio")) == {name: ([3.0], [y]) for name, y in {**ratios, **decays}.items()}
    assert drawn(plot(face, "correlation"))["correlation of predicted and true reward"] == (X, [0.7654] * 3)


def test_a_figure_shows_all_points_of_a_plot_that_was_never_on_screen(open_face: Callable[..., Face]) -> None:
    face = teaching(open_face)
    unseen = face.window.plots.all_plots()["answers"]
    assert not unseen.isVisible()
    low, high = unseen.figure().x_range
    assert low < X[0] < X[-1] < high < 1.1 * X[-1]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("decay", [2e-4, 4e-5, 0.37, 1.01e-3])
def test_a_logarithmic_scale_between_two_powers_of_ten_has_numbers(
    open_face: Callable[..., Face], decay: float
) -> None:
    face = open_face()
    for x, factor in ((1.0, 1.0), (2.0, 1.1)):
        face.controller.metrics.append("loss ratio 0", x, 1.1)
        face.controller.metrics.append("weight decay 0", x, factor * decay)
    ratio = face.window.plots.all_plots()["ratio"]
    face.wait_until(lambda: ratio.source is face.controller.metrics)
    drawing = ratio.figure().as_svg().decode()
    numbers = {float(text) for text in re.findall(r"<text[^>]*>\s*([0-9.e-]+)\s*</text>", drawing)}
    assert len([number for number in numbers if 0.9 * decay <= number <= 1.2 * decay]) > 1


def test_the_plot_of_answers_follows_answers_and_undos(open_face: Callable[..., Face]) -> None:
    face = teaching(open_face)
    assert drawn(plot(face, "answers")) == {"answers": (X, [0, 0, 0])}
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: drawn(plot(face, "answers"))["answers"] == (X, [0, 0, 1]))
    face.press(Qt.Key.Key_Backspace)
    face.wait_until(lambda: drawn(plot(face, "answers"))["answers"] == (X, [0, 0, 0]))


def test_plots_in_a_column_share_their_x_axis(open_face: Callable[..., Face]) -> None:
    face = teaching(open_face)
    show_true_reward(face)  # one of them gets a second scale
    shown = [plot(face, key) for key in ("measure", "return", "loss")]
    for one in shown:
        one.grab()
    face.wait_until(lambda: shown[1].canvas.inside().right() < shown[1].canvas.width() - 40)  # room for the right scale
    face.wait_until(lambda: len({(p.canvas.inside().left(), p.canvas.inside().right()) for p in shown}) == 1)
    shown[1].canvas.zoom(0.5)
    shown[1].canvas.pan(0.1)
    spans = [one.canvas.x_range for one in shown]
    assert all(span == pytest.approx(spans[1]) for span in spans) and spans[1][0] > 0.5
    shown[2].canvas.fit()
    for one in shown:
        one.grab()
    assert all(one.canvas.x_range[0] < 0.1 and one.canvas.x_range[1] > 2.9 for one in shown)


def test_an_empty_plot_has_no_axis_numbers_and_a_single_point_is_visible(face: Face) -> None:
    show_true_reward(face)
    measure = plot(face, "measure")
    axes = [measure.canvas.axes[side] for side in ("bottom", "left")]
    assert measure.message.isVisible() and not any(axis.style["showValues"] for axis in axes)
    assert axes[0].labelText == "environment steps"
    face.engine["rollout"].play(report(1000))
    face.wait_until(lambda: all(axis.style["showValues"] for axis in axes))
    assert has_colour(measure.canvas.grab().toImage(), theme.palette().green)


def test_one_episode_is_drawn_over_its_time(open_face: Callable[..., Face]) -> None:
    face = teaching(open_face)
    show_true_reward(face)
    episode = plot(face, "episode")
    seconds = [i * face.controller.task.step_seconds for i in range(6)]
    assert drawn(episode) == {
        "predicted reward": (seconds, PREDICTED_REWARDS.tolist()),
        "true reward": (seconds, TRUE_REWARDS.tolist()),
    }
    assert episode.title.text() == "Newest policy's episode"  # whatever the slider of earlier policies shows
    assert episode.note.text() == "Predicted and true reward agree closely (r = 1.00)."
    assert episode.items[episode.spec.curves[1]].getViewBox() is episode.canvas.right


def test_a_human_teacher_sees_no_trace_of_the_true_reward(
    open_face: Callable[..., Face],
) -> None:
    face = teaching(open_face)
    saved: list[Callable[[], bytes]] = []
    face.window.plots.save_requested.disconnect()
    face.window.plots.save_requested.connect(lambda _, name, content: saved.append(content))
    shown, plots = [], face.window.plots.all_plots()
    assert [key for key, one in plots.items() if one.isHidden()] == ["measure", "correlation"]
    for key in (key for key, one in plots.items() if not one.isHidden()):
        shown.append(plot(face, key))
        face.window.plots.enlarge(shown[-1].spec)
    shown += [large.plot for large in face.window.plots.enlarged.values()]
    for one in shown:
        one.read_off(2.0)
        one.save("csv")
        assert not any(name.startswith(("true", "correlation")) for name in drawn(one))
    image = QImage.fromData(plot(face, "return").figure().as_png())
    assert has_colour(image, LIGHT.blue) and not has_colour(image, LIGHT.green)
    large_windows = list(face.window.plots.enlarged.values())
    found = "".join([*map(words, (face.window, *large_windows)), *(content().decode() for content in saved)])
    assert "5.5" in found  # the predicted return is included
    telling = [*TRUE_RETURNS, 0.7654, *TRUE_REWARDS.tolist()]
    assert not [value for value in telling for text in (f"{value:g}", f"{value:,.6g}", repr(value)) if text in found]
    assert "r = " not in found
    for large in large_windows:
        large.close()


def test_showing_the_true_reward_depends_on_the_saved_choice_and_else_on_the_teacher(
    open_face: Callable[..., Face],
) -> None:
    face = teaching(open_face)
    switch, action = face.window.true_reward, face.window.findChild(QAction, Command.HIDE_TRUE_REWARD)
    face.labelling.set_teacher("oracle")
    assert not switch.hidden and not action.isChecked()
    assert "true return" in drawn(plot(face, "return"))
    face.labelling.set_teacher("human")
    assert switch.hidden and action.isChecked()
    assert set(drawn(plot(face, "return"))) == {"predicted return"}
    action.trigger()
    face.labelling.set_teacher("oracle")
    face.labelling.set_teacher("human")
    assert not switch.hidden
    face.close()
    assert not teaching(open_face).window.true_reward.hidden


def test_the_measure_is_hidden_with_the_true_reward(open_face: Callable[..., Face]) -> None:
    face = open_face(task="gym:CartPole-v1")
    face.controller.metrics.append("return_per_episode", 1.0, 123.0)
    face.window.live.set_live(Demonstration(make_frames(), np.zeros(6, np.float32), 1000, 5, 123.0))
    face.window.watching_commands.open_demo()
    demo = face.window.watching_commands.demo
    demo.refresh()
    measure = face.window.plots.all_plots()["measure"]
    assert measure.isHidden() and demo.side.measure.isHidden()
    said = [label.text() for label in demo.findChildren(QLabel) if label.isVisible()]
    assert "123" not in words(face.window) and "Predicted return" in said and not any("123" in text for text in said)
    show_true_reward(face)
    demo.refresh()
    assert drawn(plot(face, "measure")) == {"Return per episode": ([1.0], [123.0])}
    assert (
        face.window.live.figure.text() == "Return per episode: 123 in this episode"
        and demo.side.measure.text() == "123"
    )
    demo.close()
    face.window.plots.enlarge(measure.spec)
    action = face.window.findChild(QAction, Command.HIDE_TRUE_REWARD)
    action.trigger()
    face.wait_until(lambda: not face.window.plots.enlarged)
    assert measure.isHidden() and face.window.live.figure.isHidden()


@pytest.mark.parametrize(
    ("percent", "values", "spacing", "expected"),
    [
        (True, [0.65, 0.7], 0.05, ["65%", "70%"]),
        (True, [0.645, 0.65], 0.005, ["64.5%", "65.0%"]),
        (False, [-500.0, 0.0, 500.0, 12000.0], 500.0, ["-500", "0", "500", "12,000"]),
        (False, [999.5, 1000.0, 1000.5], 0.5, ["999.5", "1,000.0", "1,000.5"]),
    ],
)
def test_ticks_are_formatted_as_the_newest_value(
    qtbot: QtBot, percent: bool, values: list[float], spacing: float, expected: list[str]
) -> None:
    assert ValueAxis("left", percent).tickStrings(values, 1.0, spacing) == expected


def test_damaged_curves_are_ignored(open_face: Callable[..., Face], caplog: pytest.LogCaptureFixture) -> None:
    first = teaching(open_face)
    first.close()
    path = first.folder / metrics_file.NAME
    path.write_bytes(path.read_bytes()[:-1])
    again = open_face()
    assert again.controller.metrics.series() == {}
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING] != []
    assert "so they start again" in caplog.text
    show_true_reward(again)
    again.engine["rollout"].play(report(4000, flips=7.25))
    first.wait_until(lambda: drawn(plot(again, "measure")) == {_MEASURE: ([4.0], [7.25])})


@pytest.mark.parametrize(
    ("value", "text"), [(2.5e-4, "2.5e-4"), (0.012, "0.012"), (1000.0, "1000"), (12345.0, "12300"), (1e6, "1e6")]
)
def test_numbers_at_a_logarithmic_scale_are_short(value: float, text: str) -> None:
    assert log_text(value) == text
