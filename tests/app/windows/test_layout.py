"""The layout of the window at its smallest and largest supported sizes, and how it is restored."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QByteArray, QEvent, QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QWidget

from app import settings
from app.clips.clip_player import ClipPlayer
from app.keys.commands import Command
from app.labelling.pair_queue import CLIP_SIZE, LARGE_CLIP_SIZE
from app.live.demonstrations import LARGE_SIZE, SIZE
from app.style import theme
from app.window_state import restore
from app.windows.main import MainWindow
from app.windows.progress_panel import ProgressPanel
from core.events import DemonstrationRecorded
from core.service_events import ClipsRequested
from core.tasks import CATALOGUE
from core.types import Choice
from tests.app.clipping import clipped
from tests.app.fakes import Face, make_query, make_segment
from tests.app.tape import report
from tests.core.builders import BEHAVIOUR

SMALL = QSize(1280, 720)


def sized(face: Face, size: QSize = SMALL) -> MainWindow:
    face.window.resize(size)
    face.wait_until(lambda: face.window.size() == size)
    return face.window


@pytest.mark.slow_after_first
@pytest.mark.parametrize("task", sorted(CATALOGUE, key=lambda name: -len(CATALOGUE[name].instruction))[:2])
def test_nothing_is_cut_off_on_a_small_screen(open_face: Callable[..., Face], picture: Any, task: str) -> None:
    face = open_face(task=task, labels=10_000)
    window = sized(face)
    face.controller.progress.counted(4_321)
    face.controller.progress.reported(123_456_789)
    window.refresh()
    face.wait_until(lambda: clipped(window) == [])
    face.offer(make_query(), make_query())
    face.wait_until(lambda: face.query is not None)
    face.wait_until(lambda: clipped(window) == [])
    assert window.size() == SMALL
    assert min(window.clips.left.width(), window.clips.left.height()) > 300
    picture(window, f"small-pair-{task}")
    sized(face, window.minimumSize().expandedTo(window.minimumSizeHint()))
    face.wait_until(lambda: clipped(window) == [] and window.clips.rect().contains(window.clips.left.geometry()))
    sized(face)
    face.engine["reward"].die()
    face.wait_until(lambda: window.banner.shows_failure)
    face.wait_until(lambda: clipped(window) == [])
    assert window.size() == SMALL


def test_a_success_message_lies_over_the_instruction_and_covers_nothing_that_changes(face: Face) -> None:
    window = sized(face)
    face.offer(make_query())
    before = window.instruction.y()
    face.controller.succeeded.emit("Saved policy.onnx, policy-reward.onnx and contract.json in /home/me/hopper. " * 2)
    window.banner.show_notice("A bar above the instruction moves it down.")
    face.wait_until(lambda: window.instruction.y() > before)
    face.wait_until(lambda: window.toast.geometry().contains(window.instruction.geometry()))
    assert window.toast.isVisible()
    for part in (window.pair_page, window.key_hints, window.training_line, window.status_strip):
        assert not window.toast.geometry().intersects(part.geometry())


def test_a_long_plot_title_leaves_room_for_the_curve(open_face: Callable[..., Face], picture: Any) -> None:
    title = "Mean height of the torso above the floor in whole metres"
    behaviour = {**BEHAVIOUR, "plots": [{"title": title, "expression": "mean(height)"}]}
    face = open_face(task=json.dumps(behaviour))
    window = sized(face)
    plots = window.plots.all_plots().values()
    face.wait_until(lambda: any(plot.title.text().startswith(title) and plot.title.isVisible() for plot in plots))
    face.wait_until(lambda: clipped(window) == [])
    assert any(plot.title.elided for plot in plots if plot.isVisible())
    picture(window, "small-long-plot-title")


def test_no_demonstration_is_rendered_while_the_panel_is_hidden(face: Face) -> None:
    face.offer(make_query(), make_query())  # otherwise pairs are rendered first
    requests = face.engine["clips"].got

    def shown() -> list[int]:
        return [len(event.segments) for event in requests(ClipsRequested)].count(1)

    face.press(Qt.Key.Key_F9)
    face.window.refresh()
    face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(0, np.float32), 1000))
    face.engine["rollout"].play(report(env_steps=1000))  # processed after it
    face.wait_until(lambda: face.controller.progress.env_steps == 1000)
    face.controller.demonstrations.draw_if_due(pair_ready=True)
    assert shown() == 0
    face.press(Qt.Key.Key_F9)
    face.window.refresh()
    face.engine["rollout"].play(report(env_steps=2000))
    face.wait_until(lambda: shown() == 1)


def test_a_resized_panel_keeps_its_width(face: Face) -> None:
    window = sized(face, QSize(1400, 800))
    for width in (1990, 1280, 1900, 1500):
        sized(face, QSize(width, 800))
        face.wait_until(lambda width=width: abs(window.dock.width() - max(390, 0.22 * width)) < 2)
    edge = window.dock.geometry().topLeft() + QPoint(-2, 300)
    QTest.mousePress(window, Qt.MouseButton.LeftButton, pos=edge)
    place = QPointF(window.width() - 600 - 2, edge.y())
    move = (place, window.mapToGlobal(place), Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton)
    QApplication.sendEvent(window, QMouseEvent(QEvent.Type.MouseMove, *move, Qt.KeyboardModifier.NoModifier))
    face.wait_until(lambda: abs(window.dock.width() - 600) < 5)
    QTest.mouseRelease(window, Qt.MouseButton.LeftButton, pos=place.toPoint())
    chosen = window.dock.width()
    sized(face, QSize(1520, 800))
    assert window.dock.width() == chosen


def test_the_first_window_leaves_room_for_its_frame_on_the_screen(face: Face) -> None:
    larger = QMainWindow()  # larger than this screen, like the window on one of 1280 x 720
    restore(larger, "larger", QSize(9999, 9999))
    for window in (face.window, larger):
        screen, place = window.screen().availableGeometry(), window.geometry()
        assert screen.width() - place.width() >= 8 and screen.height() - place.height() >= 30
        assert screen.contains(place)
    larger.deleteLater()


def test_no_figure_moves_as_the_numbers_grow(face: Face) -> None:
    window, progress = sized(face), face.controller.progress

    def places() -> dict[str, QPoint]:
        window.refresh()
        face.wait_until(lambda: clipped(window.status_strip) == [])
        parts = window.status_strip.findChildren(QLabel)
        names = {part.accessibleName().partition(":")[0]: part.pos() for part in parts if part.accessibleName()}
        return {name.replace("Until training starts", "Steps"): place for name, place in names.items()}

    before = places()
    assert len(before) == 5
    for labels, steps, agreement in ((9, 12_345, 0.5), (4_321, 123_456_789, 0.9), (12_345, 987_654_321, 1.0)):
        progress.counted(labels)
        progress.reported(steps, divergences=steps // 1_000_000, agreement=agreement)
        assert places() == before


def test_the_window_restores_its_size_and_state(open_face: Callable[..., Face]) -> None:
    face = open_face()
    room = face.window.screen().availableSize().boundedTo(QSize(1300, 740))
    left = room - QSize(40, 40)  # Qt leaves room for a title bar, which this screen does not have
    assert left != face.window.size()
    sized(face, left)
    face.window.commands[Command.PROGRESS_PANEL].trigger()
    assert face.window.dock.isHidden()
    face.close()
    again = open_face()
    assert again.window.size() == left
    assert again.window.dock.isHidden() and not again.window.commands[Command.PROGRESS_PANEL].isChecked()
    again.window.commands[Command.PROGRESS_PANEL].trigger()
    assert again.window.dock.isVisible()


def test_a_moved_splitter_is_restored_and_hides_neither_side(open_face: Callable[..., Face]) -> None:
    face = open_face()
    sized(face)
    panel = face.window.findChild(ProgressPanel)
    usual, _ = panel.sizes()
    handle = panel.handle(1)
    QTest.mousePress(handle, Qt.MouseButton.LeftButton)
    QTest.mouseMove(handle, QPoint(5, -2000))
    QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=QPoint(5, -2000))
    live, plots = panel.sizes()
    assert 0 < live < usual
    face.close()
    again = open_face()
    sized(again)
    again.wait_until(lambda: again.window.findChild(ProgressPanel).sizes() == pytest.approx([live, plots], abs=2))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("command", [Command.REWARD_PLOTS, Command.EARLIER_POLICY, Command.NEWEST_POLICY])
def test_commands_that_act_on_the_panel_show_it(face: Face, command: Command) -> None:
    face.window.commands[Command.PROGRESS_PANEL].trigger()
    assert face.window.dock.isHidden()
    face.window.commands[command].trigger()
    assert face.window.dock.isVisible() and face.window.commands[Command.PROGRESS_PANEL].isChecked()


def test_a_damaged_window_state_is_ignored(open_face: Callable[..., Face]) -> None:
    settings.keep("window/geometry", QByteArray(b"\x00\x01\x02"))
    settings.keep("window/state", "no bytes")
    settings.keep("plots/hide_true_reward", "perhaps")
    window = open_face().window
    assert window.dock.isVisible() and window.true_reward.hidden


def test_tab_cycles_through_all_controls_and_shows_the_focus(face: Face) -> None:
    face.answered()  # otherwise Undo is disabled
    window = face.window
    seen: list[QWidget] = []
    for _ in range(60):
        face.press(Qt.Key.Key_Tab)
        here = window.focusWidget()
        if here in seen:
            break
        if here is not None:
            seen.append(here)
    assert window.focusWidget() is seen[0]  # back at the first control, without a trap on the way
    assert {window.clips.left, window.clips.right, *window.key_hints.buttons.values()} <= set(seen)
    player = window.clips.left
    player.setFocus(Qt.FocusReason.TabFocusReason)
    face.wait_until(player.hasFocus)
    image = player.grab().toImage()
    edge = (player.height() - min(player.width(), player.height())) // 2 + 2
    assert image.pixelColor(image.width() // 2, round(edge * image.devicePixelRatio())).name() == theme.palette().blue


def press_on_focus(key: Qt.Key) -> None:
    """Press a key on the widget that has the focus."""
    here = QApplication.focusWidget()
    QTest.keyClick(here, key)


def test_a_button_can_be_pressed_and_left_by_keys_alone(face: Face) -> None:
    first, second, third = face.offer(make_query(), make_query(), make_query())
    tie = face.window.key_hints.buttons[Choice.TIE]
    tie.setFocus(Qt.FocusReason.TabFocusReason)
    press_on_focus(Qt.Key.Key_Space)
    face.wait_until(lambda: face.query is second)
    assert face.window.clips.clock.playing  # Space pressed the button and did not pause the clips
    press_on_focus(Qt.Key.Key_Return)
    face.wait_until(lambda: face.query is third)
    assert [a.choice for a in face.answers()] == [Choice.TIE, Choice.TIE]
    press_on_focus(Qt.Key.Key_Escape)
    assert QApplication.focusWidget() is face.window.centralWidget()


def test_every_control_has_a_name_for_screen_readers(face: Face) -> None:
    face.offer(make_query())
    window = face.window
    window.refresh()
    names = {part.accessibleName(): part for part in window.findChildren(QWidget) if part.accessibleName()}
    for name in ("Left clip", "Right clip", "Left is better", "Undo", "Figures of the session", "Message"):
        assert name in names
    assert names["Left clip"].accessibleDescription() == "a loop of 0.3 seconds"
    assert names["Left is better"].accessibleDescription() == "key ←"
    assert {"Answers given: 0", "Plots of the training", "The policy acting"} <= set(names)
    face.engine["policy"].die()
    face.wait_until(lambda: window.banner.shows_failure)
    assert "Policy training stopped" in window.banner.accessibleDescription()
    assert isinstance(names["Left clip"], ClipPlayer)


def test_clips_are_rendered_larger_on_a_high_resolution_screen(face: Face) -> None:
    sized(face)
    face.offer(make_query())
    assert {event.size for event in face.engine["clips"].got(ClipsRequested)} == {CLIP_SIZE}
    sized(face, QSize(1900, 1060))  # the size of the tests' screen
    face.wait_until(lambda: face.window.clips.left.width() > 640 and face.window.clips.left.height() > 640)
    face.press(Qt.Key.Key_Left)
    face.offer(make_query(), make_query())
    face.wait_until(lambda: face.engine["clips"].got(ClipsRequested)[-1].size == LARGE_CLIP_SIZE)


def test_the_live_view_is_rendered_larger_on_a_high_resolution_screen(face: Face) -> None:
    demonstrations = face.controller.demonstrations
    sized(face)
    face.wait_until(lambda: demonstrations.size == SIZE)
    sized(face, QSize(1900, 1060))
    face.window.resizeDocks([face.window.dock], [800], Qt.Orientation.Horizontal)
    face.wait_until(lambda: demonstrations.size == LARGE_SIZE)
    face.offer(make_query(), make_query())  # otherwise pairs are rendered first
    face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(0, np.float32), 1000))
    requests = face.engine["clips"].got
    face.wait_until(lambda: [e.size for e in requests(ClipsRequested) if len(e.segments) == 1] == [LARGE_SIZE])
