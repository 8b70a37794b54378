"""Visible focus: each control that Tab reaches changes its look with the focus, but not its place and size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QPushButton, QSlider, QToolButton, QWidget

from app.behaviours.page import BehaviourPage
from app.behaviours.robot_picker import RobotCard
from app.session.factory import create_session, session_config
from app.style import theme
from app.style.theme import Appearance
from tests.app.behaviour_page_driver import fill
from tests.app.fakes import Face
from tests.app.start_page_driver import Page

CONTRAST, PIXELS = 3.0, 50
"""WCAG 2.2, success criterion 2.4.13: the contrast of a pixel with the focus and without; and pixels with that contrast."""


def luminances(part: QWidget) -> npt.NDArray[np.float64]:
    """Return WCAG's relative luminance of each pixel."""
    image = part.grab().toImage().convertToFormat(QImage.Format.Format_RGBX8888)
    channels = np.array(image.constBits()).reshape(image.height(), image.width(), 4)[..., :3] / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ (0.2126, 0.7152, 0.0722))


def contrasting(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> int:
    """Return the number of pixels that differ clearly."""
    ratio = (np.maximum(one, other) + 0.05) / (np.minimum(one, other) + 0.05)
    return int((ratio >= CONTRAST).sum())


def stops(window: QWidget, kinds: tuple[type[QWidget], ...]) -> tuple[list[QWidget], list[str]]:
    """Return the controls of these kinds that Tab reaches, and the faults of their focus."""
    seen, poor = list[QWidget](), list[str]()
    while True:
        QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
        here = QApplication.focusWidget()
        if here is None or here in seen:
            return [part for part in seen if isinstance(part, kinds)], poor
        seen.append(here)
        if isinstance(here, kinds):
            focused, size = luminances(here), here.sizeHint()
            here.clearFocus()
            if size != here.sizeHint() or contrasting(focused, luminances(here)) < PIXELS:
                poor.append(repr(here))
            here.setFocus(Qt.FocusReason.TabFocusReason)


def shown(page: Page) -> BehaviourPage:
    """The page of behaviours beside a session whose answers can be taken."""
    create_session(page.root / "stuck", session_config("hopper-backflip")).close()
    page.show().window.show_new_behaviour()
    page.wait_until(page.window.behaviour_page.begin_from.isVisible)
    return page.window.behaviour_page


@pytest.mark.slow_after_first
@pytest.mark.parametrize("look", [Appearance.DARK, Appearance.LIGHT])
def test_all_controls_of_the_page_of_behaviours_show_the_focus(page: Page, look: Appearance) -> None:
    theme.choose(look)
    made = shown(page)
    fill(made)
    made.begin_from.source.setFocus()
    page.press(Qt.Key.Key_Down)
    seen, poor = stops(made, (QPushButton, QToolButton, QSlider, QCheckBox, RobotCard))
    assert {type(part) for part in seen} >= {QPushButton, QToolButton, QCheckBox, RobotCard}
    assert made.start in seen and made.clips.length in seen and poor == []


def test_buttons_of_a_session_show_the_focus(face: Face) -> None:
    face.window.live.show_signals.show()
    for checked in (False, True):
        face.window.live.show_signals.setChecked(checked)
        seen, poor = stops(face.window, (QToolButton,))
        assert seen == [face.window.live.show_signals, face.window.export_button] and poor == []
