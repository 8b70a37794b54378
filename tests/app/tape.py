"""A tape of events for the plots, and access to what they draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from PySide6.QtGui import QAction, QImage
from PySide6.QtWidgets import QWidget

from app.clips.clip_pair import ClipPair
from app.keys.commands import Command
from app.plots.plot import Plot
from app.style import theme
from core.events import DemonstrationRecorded, RewardFitted, RolloutReported
from core.types import Choice
from tests.app.fakes import Face, make_segment

NAN = math.nan
X = [1.0, 2.0, 3.0]
"""Thousands of steps at which there are reports."""
TRUE_RETURNS = [918273.0, 928374.0, 938475.0]
TRUE_REWARDS = np.array([77123, 77234, 77345, 77456, 77567, 77678], np.float32)
PREDICTED_REWARDS = np.array([0, 1, 2, 3, 4, 4.5], np.float32)
FIT = RewardFitted(5, (0.5, 0.25, 0.8), (0.6, NAN, 1.0), (1e-4, 1e-3, 1e-2))
SCHEDULE: dict[str, Any] = {"labels": 40, "steps": 10**12}
SCHEDULE |= {"query__first_labels": 10, "query__half_life": 1e3, "query__horizon": 15_000}


def report(
    env_steps: int,
    true: float = 10.0,
    predicted: float = 4.0,
    flips: float = 2.5,
    divergences: int = 0,
    agreement: float = 0.75,
    finishing: float | None = None,
) -> RolloutReported:
    measure = {"backflips_per_episode": flips}
    return RolloutReported(env_steps, 1000, true, predicted, measure, 0.7654, divergences, agreement, finishing)


def play(face: Face) -> None:
    """Play three reports, a fit and an episode, in which no other figure equals a true one by chance."""
    for number, true in enumerate(TRUE_RETURNS):
        face.engine["rollout"].play(report(1000 * (number + 1), true, 4.5 + number, 0.5 + number))
    face.wait_until(lambda: face.controller.progress.env_steps == 3000)
    face.engine["reward"].play(FIT)
    segment = replace(make_segment(), true_rewards=TRUE_REWARDS)
    face.engine["rollout"].play(DemonstrationRecorded(segment, PREDICTED_REWARDS, 3000))
    face.wait_until(lambda: len(face.controller.episode.snapshot("true reward")[0]) == 6)
    face.wait_until(lambda: "weight decay 2" in face.controller.metrics.series())
    face.window.resize(1280, 720)
    refresh(face)


def teaching(open_face: Callable[..., Face], **changes: Any) -> Face:
    """Open a window over a session in which the jobs have reported some progress."""
    face = open_face(**{**SCHEDULE, **changes})
    play(face)
    return face


def plot(face: Face, key: str) -> Plot:
    """Return the plot after bringing its tab to the front and drawing it."""
    plots = face.window.plots
    found = plots.all_plots()[key]
    plots.setCurrentIndex(next(i for i in range(plots.count()) if plots.widget(i).isAncestorOf(found)))
    face.wait_until(lambda: found.isVisible() and found.canvas.inside().width() > 50)
    refresh(face)
    found.grab()  # scales are fitted when a plot is painted
    return found


def refresh(face: Face) -> None:
    """Refresh until no plot has new data."""
    while face.window.plots.refresh(face.controller.metrics, face.controller.episode):
        pass


def drawn(shown: Plot) -> dict[str, tuple[list[float], list[float]]]:
    """Return the curves on screen by name: x and y of the drawing library, with None for a gap."""
    found = {}
    for curve, item in shown.items.items():
        x, y = item.getData()
        if x is not None and len(x):
            found[curve.name] = x.tolist(), [None if math.isnan(v) else v for v in y.tolist()]
    return found


def words(widget: QWidget) -> str:
    """Return every text on the widget, including those for screen readers."""
    texts = [widget, *widget.findChildren(QWidget)]
    said = [child.text() for child in texts if callable(getattr(child, "text", None))]
    return "\n".join([*said, *(t.accessibleName() + t.accessibleDescription() + t.toolTip() for t in texts)])


def show_true_reward(face: Face) -> None:
    action = face.window.findChild(QAction, Command.HIDE_TRUE_REWARD)
    assert isinstance(action, QAction) and action.isChecked()
    action.trigger()


def has_colour(image: QImage, colour: str) -> bool:
    """Return whether any pixel has exactly this colour."""
    plain = image.convertToFormat(QImage.Format.Format_RGB32)  # named, so that its pixels stay alive
    pixels = np.frombuffer(plain.constBits(), np.uint32) & 0xFFFFFF
    return bool((pixels == int(colour[1:], 16)).any())


def flashed(clips: ClipPair) -> Choice | None:
    """Return the choice that a pair of clips confirms, read from its pictures."""
    pictures = clips.left.grab().toImage(), clips.right.grab().toImage()
    colours = theme.palette().choice_colours
    for choice in (Choice.TIE, Choice.CANT_TELL):
        if all(has_colour(picture, colours[choice]) for picture in pictures):
            return choice
    green = [has_colour(picture, colours[Choice.LEFT]) for picture in pictures]
    return {(True, False): Choice.LEFT, (False, True): Choice.RIGHT}.get((green[0], green[1]))
