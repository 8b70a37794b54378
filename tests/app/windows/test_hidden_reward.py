"""The true reward and the task's measure are nowhere to be seen while a person teaches, until the person asks for them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app.live.demonstrations import Demonstration
from tests.app.fakes import Face
from tests.app.live_view_driver import demonstration
from tests.app.tape import report

FIGURE = 2.5
"""Backflips, which `report` tells; 10.0 is the true return."""


def texts(window: QWidget) -> str:
    parts = [part for part in window.findChildren(QLabel) if part.isVisible()]
    return " ".join(f"{part.text()} {part.toolTip()} {part.accessibleDescription()}" for part in parts)


def tells(face: Face) -> list[str]:
    """Return the places where a figure of the true reward can be read."""
    face.window.refresh()
    face.window.demo_commands.open_demo()
    demo = face.window.demo_commands.demo
    demo.refresh()
    plots = face.window.plots.all_plots().values()
    places = {
        "live view": str(FIGURE) in texts(face.window.live),
        "plots": any(plot.isVisible() and str(FIGURE) in texts(plot) for plot in plots),
        "demo": str(FIGURE) in texts(demo),
    }
    face.window.demo_commands.leave_demo()
    return [place for place, shows in places.items() if shows]


def test_no_figure_of_the_true_reward_is_shown_before_or_after_answers_unless_wished(face: Face) -> None:
    shown = demonstration()
    drawn = Demonstration(shown.frames, shown.predicted, 1000, figure=FIGURE)
    face.engine["rollout"].play(report(1000))
    face.wait_until(lambda: face.controller.progress.env_steps == 1000)
    face.controller.demonstrations.demonstration_drawn.emit(drawn)
    face.wait_until(lambda: face.window.live.policy.shown is drawn)
    assert tells(face) == []
    face.answered()
    assert tells(face) == []
    face.window.activateWindow()
    face.wait_until(face.window.isActiveWindow)
    face.press(Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    assert tells(face) == ["live view", "plots", "demo"]
