"""Specifications of all plots: curves, axes and captions."""

from collections.abc import Callable
from dataclasses import dataclass

from app.session import metrics_recorder
from app.session.metrics_recorder import of_figure, of_member
from app.style.palette import Palette
from core.config import RewardConfig
from core.tasks.base import Task


@dataclass(frozen=True)
class CurveSpec:
    """One curve. right: it uses the right scale; tells_reward: it is hidden with the true reward."""

    name: str
    series: str
    colour: Callable[[Palette], str]
    right: bool = False
    dashed: bool = False
    tells_reward: bool = False
    short: str = ""
    """Shorter name for the legend, where the title says the rest."""


@dataclass(frozen=True)
class Axis:
    """The x axis. tick: formats a tick; write: formats one x in full; column: heading in a table."""

    title: str
    tick: Callable[[float], str]
    write: Callable[[float], str]
    column: str


def _thousands(x: float) -> str:
    """500k, 1.5M"""
    return f"{x:.6g}k" if 0 < abs(x) < 1000 else f"{x / 1000:.6g}M" if x else "0"


STEPS = Axis("environment steps", _thousands, lambda x: f"{1000 * x:,.0f} steps", "environment steps, thousands")
SECONDS = Axis("time in the episode", lambda x: f"{x:.6g} s", lambda x: f"{x:.2f} s", "seconds")


@dataclass(frozen=True)
class PlotSpec:
    """One plot."""

    key: str
    """Unique; the name of saved files."""
    title: str
    curves: tuple[CurveSpec, ...]
    empty_message: str
    """Message while there are no points."""
    word: str = "measure"
    """Word of the glossary that explains the plot."""
    legend: str = ""
    """Replaces the names of the curves, if each ensemble member has its own."""
    axis: Axis = STEPS
    band: tuple[float, float] | None = None
    """Target range of y."""
    left_title: str = ""
    """Title of the left scale where there is room; '' for the plot's own title."""
    right_title: str = ""
    right_log: bool = False
    percent: bool = False
    """The newest value, a share, is written in percent."""
    averaged: bool = False
    """Points are means of the latest training episodes, which differ from the one episode of the live view."""

    def visible_curves(self, hidden: bool) -> tuple[CurveSpec, ...]:
        """Curves to draw; hidden: without those that reveal the true reward."""
        return tuple(curve for curve in self.curves if not (hidden and curve.tells_reward))


_AFTER_TRAINING = "Appears once training has started"
_FIRST_EPISODES = "Appears after the first finished episodes."
_FIRST_FIT = f"{_AFTER_TRAINING}."

LEARNING, REWARD_MODEL, SESSION = "Learning", "Reward model", "Session"


def groups(task: Task, reward: RewardConfig) -> dict[str, tuple[PlotSpec, ...]]:
    """All plots of a session, by tab."""
    held_out = (_ratio(reward),) if reward.holdout else ()
    fit = (*held_out, _episode(task), *((_CORRELATION,) if task.has_true_reward else ()))
    return {
        LEARNING: (_measure(task), *_plots_of(task), _returns(task), _loss(reward)),
        REWARD_MODEL: fit,
        SESSION: _PACE,
    }


def _member(number: int) -> Callable[[Palette], str]:
    return lambda palette: palette.members[number % len(palette.members)]


def _measure(task: Task) -> PlotSpec:
    series = of_figure(task.measure_name)
    curve = CurveSpec(task.measure_title, series, lambda palette: palette.green, tells_reward=task.has_true_reward)
    return PlotSpec("measure", task.measure_title, (curve,), _FIRST_EPISODES, averaged=True)


def _plots_of(task: Task) -> tuple[PlotSpec, ...]:
    """Return plots of a behaviour's other figures; they are hidden with the measure, as they reveal much the same."""
    others = {name: title for name, title in task.plots.items() if name != task.measure_name}
    return tuple(
        PlotSpec(
            f"figure-{name}",
            title,
            (CurveSpec(title, of_figure(name), lambda palette: palette.teal, tells_reward=task.has_true_reward),),
            _FIRST_EPISODES,
            averaged=True,
        )
        for name, title in others.items()
    )


def _returns(task: Task) -> PlotSpec:
    curves = _predicted_and_true(task, "return", metrics_recorder.PREDICTED, metrics_recorder.TRUE)
    return PlotSpec(
        "return",
        "Return" if task.has_true_reward else "Predicted return",
        curves,
        f"{_AFTER_TRAINING} and episodes have finished.",
        left_title="predicted return",
        right_title="true return",
        word="return",
        averaged=True,
    )


def _predicted_and_true(task: Task, figure: str, predicted_series: str, true_series: str) -> tuple[CurveSpec, ...]:
    """Curves of the predicted and, if the task has one, the true reward or return."""
    predicted = CurveSpec(f"predicted {figure}", predicted_series, lambda palette: palette.blue, short="predicted")
    true = CurveSpec(
        f"true {figure}", true_series, lambda palette: palette.green, right=True, tells_reward=True, short="true"
    )
    return (predicted, true) if task.has_true_reward else (predicted,)


def _loss(reward: RewardConfig) -> PlotSpec:
    curves = []
    for m in range(reward.members):
        curves.append(CurveSpec(f"training {m + 1}", of_member(metrics_recorder.TRAIN_LOSS, m), _member(m)))
        if reward.holdout:
            series = of_member(metrics_recorder.VALIDATION_LOSS, m)
            curves.append(CurveSpec(f"validation {m + 1}", series, _member(m), dashed=True))
    legend = "— training  ┅ validation" if reward.holdout else "one line per predictor"
    return PlotSpec("loss", "Loss", tuple(curves), _FIRST_FIT, "loss", legend)


def _ratio(reward: RewardConfig) -> PlotSpec:
    """Return the plot of the ratio that controls the weight decay, for sessions that hold out answers."""
    curves = []
    for m in range(reward.members):
        curves.append(CurveSpec(f"ratio {m + 1}", of_member(metrics_recorder.LOSS_RATIO, m), _member(m)))
        curves.append(CurveSpec(f"L2 {m + 1}", of_member(metrics_recorder.L2, m), _member(m), right=True, dashed=True))
    low, high = reward.ratio_low, reward.ratio_high
    legend = "— ratio  ┅ L2 (right)"
    return PlotSpec(
        "ratio",
        "Validation/training loss",
        tuple(curves),
        _FIRST_FIT,
        "validation/training loss",
        legend,
        band=(low, high),
        right_title="L2",
        right_log=True,
    )


def _episode(task: Task) -> PlotSpec:
    curves = _predicted_and_true(task, "reward", metrics_recorder.PREDICTED_REWARD, metrics_recorder.TRUE_REWARD)
    empty_message = "Appears with the next recording for the live view."
    return PlotSpec(
        "episode",
        "Newest policy's episode",
        curves,
        empty_message,
        axis=SECONDS,
        left_title="predicted reward",
        right_title="true reward",
        word="one episode",
    )


_CORRELATION_CURVE = CurveSpec(
    "correlation of predicted and true reward",
    metrics_recorder.CORRELATION,
    lambda palette: palette.teal,
    tells_reward=True,
)
_CORRELATION = PlotSpec(
    "correlation", "Correlation with the true reward", (_CORRELATION_CURVE,), _FIRST_FIT, "correlation"
)
_PACE = (
    PlotSpec(
        "answers",
        "Answers",
        (CurveSpec("answers", metrics_recorder.LABELS, lambda palette: palette.green),),
        "Appears after the first steps.",
        "answers",
    ),
    PlotSpec(
        "agreement",
        "Predictors agree on new pairs",
        (CurveSpec("share of new pairs", metrics_recorder.AGREEMENT, lambda palette: palette.teal),),
        _FIRST_FIT,
        "predictors agree on new pairs",
        percent=True,
    ),
    PlotSpec(
        "speed",
        "Steps per second",
        (CurveSpec("steps per second", metrics_recorder.SPEED, lambda palette: palette.blue),),
        "Appears after the second batch of steps.",
        "steps per second",
    ),
)
