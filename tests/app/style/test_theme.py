"""Legible colours in both schemes, and a change of the scheme while the window is open."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QScrollArea, QTabWidget, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.style import theme
from app.style.palette import DARK, LIGHT, Palette
from app.style.theme import Appearance

LEAST = 4.5
"""WCAG 2.2, success criterion 1.4.3, level AA, for text that is not large."""
TEXTS, SURFACES = ("text", "muted"), ("background", "panel", "line", "checked", "failure", "notice")
COLOURS = ("green", "amber", "grey", "blue", "red", "purple", "teal", "disabled")


def luminance(colour: str) -> float:
    """Return WCAG's relative luminance of #rrggbb."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [DARK, LIGHT], ids=["dark", "light"])
def test_every_text_colour_has_enough_contrast_on_every_surface(scheme: Palette) -> None:
    pairs = [*itertools.product(TEXTS, SURFACES), *itertools.product(COLOURS, ("background", "panel"))]
    poor = {pair: contrast(*(getattr(scheme, name) for name in pair)) for pair in pairs}
    assert {pair: ratio for pair, ratio in poor.items() if ratio < LEAST} == {}


@pytest.mark.parametrize("chosen", [Appearance.DARK, Appearance.LIGHT])
def test_the_handle_of_a_scroll_bar_is_visible(qtbot: QtBot, chosen: Appearance) -> None:
    theme.choose(chosen)
    area = QScrollArea()
    qtbot.addWidget(area)
    inside = QWidget()
    inside.setFixedSize(50, 500)
    area.setWidget(inside)
    area.resize(100, 200)
    area.show()
    bar = area.verticalScrollBar()
    colour = bar.grab().toImage().pixelColor(bar.width() // 2, 20).name()
    assert 1.8 < contrast(colour, theme.palette().background) < 2.5


@pytest.mark.parametrize(("chosen", "scheme"), [(Appearance.LIGHT, LIGHT), (Appearance.DARK, DARK)])
def test_a_chosen_colour_scheme_is_applied_at_once_and_saved(
    qapp: QApplication, chosen: Appearance, scheme: Palette
) -> None:
    theme.choose(chosen)
    assert theme.palette() is scheme and theme.appearance() == chosen
    assert qapp.palette().color(QPalette.ColorRole.Window).name() == scheme.background
    assert f"color: {scheme.muted}" in qapp.styleSheet()


def test_without_a_choice_the_colours_follow_the_system(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = QGuiApplication.styleHints().colorSchemeChanged
    monkeypatch.setattr(theme, "system_is_light", lambda: True)
    changed.emit(Qt.ColorScheme.Light)
    assert theme.palette() is LIGHT
    theme.choose(Appearance.DARK)
    changed.emit(Qt.ColorScheme.Light)
    assert theme.palette() is DARK
    monkeypatch.setattr(theme, "system_is_light", lambda: False)
    theme.choose(Appearance.SYSTEM)
    assert theme.palette() is DARK


def test_the_arrows_of_an_overfull_tab_bar_are_visible(qtbot: QtBot) -> None:
    tabs = QTabWidget()
    qtbot.addWidget(tabs)
    tabs.resize(200, 100)
    for number in range(9):
        tabs.addTab(QWidget(), f"Group {number}")
    tabs.show()
    arrows = [button for button in tabs.findChildren(QToolButton) if button.isVisible()]
    assert len(arrows) == 2
    right = arrows[1].grab().toImage()
    colours = {right.pixelColor(x, y).name() for x in range(right.width()) for y in range(right.height())}
    assert max(contrast(colour, theme.palette().background) for colour in colours) > 3
