"""Plots controlled by mouse and keys, and saved in files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QColor, QImage, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton

from app.plots.plot import Plot
from app.style import theme
from app.style.palette import LIGHT
from app.style.theme import Appearance
from tests.app.fakes import Face, take_file
from tests.app.tape import NAN, has_colour, plot, show_true_reward, teaching

SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def press(key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Press a key on the widget that has the focus."""
    QTest.keyClick(QApplication.focusWidget(), key, modifier)


def point(shown: Plot, x: float) -> None:
    """Move the mouse over this x."""
    canvas = shown.canvas
    middle = np.mean(canvas.view.viewRange()[1])
    place = canvas.mapFromScene(canvas.view.mapViewToScene(QPointF(x, middle)))
    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(place), canvas.viewport().mapToGlobal(QPointF(place)), *_NO_BUTTON
    )
    QApplication.sendEvent(canvas.viewport(), event)


_NO_BUTTON = (Qt.MouseButton.NoButton, Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier)


def turn_wheel(shown: Plot, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Turn the wheel over the middle of the plot."""
    place = QPointF(shown.canvas.inside().center())
    event = QWheelEvent(
        *(place, shown.canvas.viewport().mapToGlobal(place), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton),
        *(modifiers, Qt.ScrollPhase.NoScrollPhase, False),
    )
    QApplication.sendEvent(shown.canvas.viewport(), event)


def fits(shown: Plot) -> bool:
    """Return whether both axes show everything and keep following new data."""
    (left, right), (bottom, top) = shown.canvas.view.viewRange()
    automatic = all(shown.canvas.view.autoRangeEnabled())
    return automatic and left < 1.0 and right > 3.0 and bottom < 0.5 and top > 2.5


def span(shown: Plot) -> tuple[float, float]:
    low, high = shown.canvas.view.viewRange()[0]
    return low, high


def test_the_crosshair_reads_the_nearest_recorded_point_exactly(open_face: Callable[..., Face]) -> None:
    face = teaching(open_face)
    returns = plot(face, "return")
    point(returns, 2.2)
    face.wait_until(returns.readout.isVisible)
    assert returns.canvas.crosshair_x == 2.0
    assert "2,000 steps" in returns.readout.text() and ">5.5<" in returns.readout.text()
    assert returns.accessibleDescription() == "2,000 steps; predicted return 5.5"
    QApplication.sendEvent(returns.canvas, QEvent(QEvent.Type.Leave))
    assert returns.canvas.crosshair_x is None and not returns.readout.isVisible()


def test_keys_read_values_zoom_pan_fit_and_enlarge(open_face: Callable[..., Face]) -> None:
    face = teaching(open_face)
    show_true_reward(face)
    QTest.keyClick(face.window, Qt.Key.Key_1, CTRL)
    measure = face.window.plots.all_plots()["measure"]
    face.wait_until(measure.hasFocus)
    measure.grab()  # scales are fitted when a plot is painted
    whole = span(measure)
    for expected in ("3,000 steps", "2,000 steps", "1,000 steps", "1,000 steps"):
        press(Qt.Key.Key_Left, SHIFT)
        assert expected in measure.readout.text()
    press(Qt.Key.Key_Plus)
    middle, half = np.mean(whole), (whole[1] - whole[0]) / 2
    assert span(measure) == pytest.approx((middle - 0.8 * half, middle + 0.8 * half))
    press(Qt.Key.Key_Right, CTRL)
    assert span(measure) == pytest.approx((middle - 0.64 * half, middle + 0.96 * half))
    measure.stop_reading()
    measure.canvas.follow_x((0.5, 2.5))
    press(Qt.Key.Key_Left, SHIFT)
    assert "2,000 steps" in measure.readout.text()  # the newest point in view
    press(Qt.Key.Key_Home)
    face.wait_until(lambda: fits(measure))
    press(Qt.Key.Key_Return)
    assert list(face.window.plots.enlarged) == ["measure"]
    assert "Enter: open" in measure.title.parentWidget().toolTip()
    assert "Enter" not in face.window.plots.enlarged["measure"].plot.title.parentWidget().toolTip()
    QTest.keyClick(face.window.plots.enlarged["measure"], Qt.Key.Key_Escape)
    assert face.window.plots.enlarged == {}


def test_an_enlarged_plot_of_small_numbers_keeps_its_scale_when_the_colours_change(
    open_face: Callable[..., Face],
) -> None:
    face = open_face()
    show_true_reward(face)
    shares = face.window.plots
    for steps in (1.0, 2.0, 3.0):
        face.controller.metrics.append("agreement", steps, 0.1 * steps)
    face.window.refresh()
    shares.enlarge(shares.all_plots()["agreement"].spec)
    large = shares.enlarged["agreement"].plot
    face.wait_until(lambda: 0.2 < large.canvas.view.viewRange()[1][1] < 0.5)
    for look in (Appearance.LIGHT, Appearance.DARK):
        theme.choose(look)
        QCoreApplication.processEvents()
        assert {large.canvas.axes[side].autoSIPrefixScale for side in ("left", "bottom")} == {1.0}


def test_the_mouse_zooms_pans_and_fits_along_x(open_face: Callable[..., Face]) -> None:
    face = teaching(open_face)
    show_true_reward(face)
    measure = plot(face, "measure")
    whole = span(measure)
    turn_wheel(measure)
    assert span(measure) == whole  # the wheel scrolls the column instead
    turn_wheel(measure, CTRL)
    near = span(measure)
    assert near[1] - near[0] < whole[1] - whole[0]
    viewport, middle = measure.canvas.viewport(), measure.canvas.inside().center()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=middle)
    for step in range(1, 6):
        place = middle + QPoint(8 * step, 0)
        move = (QPointF(place), viewport.mapToGlobal(QPointF(place)), Qt.MouseButton.NoButton)
        event = QMouseEvent(QEvent.Type.MouseMove, *move, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(viewport, event)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=middle + QPoint(40, 0))
    assert span(measure)[0] < near[0] and span(measure)[1] - span(measure)[0] == pytest.approx(near[1] - near[0])
    dragged = span(measure)
    turn_wheel(measure)  # scrolls the column even after a click on the plot
    assert span(measure) == dragged
    others = [plot(face, key) for key in ("measure", "loss")]
    assert all(one.note.isVisibleTo(one) and "Only a part is shown" in one.note.text() for one in others)
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=middle)
    face.wait_until(lambda: fits(measure))
    assert not any("Only a part" in one.note.text() for one in others)


def test_values_read_by_keys_disappear_with_the_focus(open_face: Callable[..., Face]) -> None:
    face = teaching(open_face)
    show_true_reward(face)
    measure = plot(face, "measure")
    measure.setFocus()
    QTest.keyClick(measure, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert measure.readout.isVisible()
    plot(face, "loss").setFocus()
    assert not measure.readout.isVisible()


def choose(face: Face, target: Path) -> str:
    """Choose this file in the dialog; return the message that the window shows."""
    take_file(face.window, target)
    face.wait_until(face.window.toast.isVisible)
    return face.window.toast.text()


def menu_action(shown: Plot, word: str) -> QAction:
    return next(action for action in shown.menu.actions() if word in action.text())


def test_figures_saved_as_a_table_are_exact(open_face: Callable[..., Face], tmp_path: Path) -> None:
    face = teaching(open_face)
    face.controller.metrics.append("train loss 0", 3.5, 0.1 + 0.2)
    loss = plot(face, "loss")
    menu_action(loss, "CSV").trigger()
    assert choose(face, tmp_path / "loss.csv") == f"Saved loss.csv in {tmp_path}."
    header, *rows = csv.reader(io.StringIO((tmp_path / "loss.csv").read_text("utf-8")))
    names = [f"{kind} {m}" for m in (1, 2, 3) for kind in ("training", "validation")]
    assert header == ["environment steps, thousands", *names]
    assert [[float(cell) if cell else None for cell in row] for row in rows] == [
        [3.0, 0.5, 0.6, 0.25, pytest.approx(NAN, nan_ok=True), 0.8, 1.0],
        [3.5, 0.1 + 0.2, None, None, None, None, None],
    ]


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("word", "suffix"), [("PNG", "png"), ("SVG", "svg")])
def test_a_saved_picture_is_light_and_large_and_names_its_task_and_session(
    open_face: Callable[..., Face], tmp_path: Path, word: str, suffix: str
) -> None:
    face = teaching(open_face)
    show_true_reward(face)
    target = tmp_path / f"return.{suffix}"
    menu_action(plot(face, "return"), word).trigger()
    assert f"Saved {target.name}" in choose(face, target)
    image = QImage(str(target))
    assert image.pixelColor(2, 2) == QColor("white") and has_colour(image, LIGHT.blue)
    if suffix == "png":
        assert image.width() == 2400 and round(image.dotsPerMeterX() * 0.0254) == 300
    else:
        text = " ".join(re.findall(r"<text[^>]*>([^<]*)", target.read_text("utf-8")))
        for part in (
            "Hopper: backflips – Return",
            face.folder.name,
            "environment steps",
            "predicted return",
            "after 3k",
        ):
            assert part in text
        widths = {float(width) for width in re.findall(r'stroke-width="([0-9.]+)"', target.read_text("utf-8"))}
        assert max(widths) > 2


def test_an_enlarged_plot_is_in_front_again_after_saving(open_face: Callable[..., Face], tmp_path: Path) -> None:
    face = teaching(open_face)
    returns = plot(face, "return")
    returns.enlarge_requested.emit()
    large = face.window.plots.enlarged["return"]
    face.wait_until(large.isActiveWindow)
    QTest.mouseClick(large.findChildren(QPushButton)[1], Qt.MouseButton.LeftButton)
    assert large.findChild(QFileDialog) is not None  # the dialog belongs to this window, not to the one behind it
    choose(face, tmp_path / "return.png")
    face.wait_until(large.isActiveWindow)
    assert (tmp_path / "return.png").exists()
