"""The layout of the answer history at its smallest and largest supported sizes: nothing is cut off."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtTest import QTest

from core.types import Choice
from tests.app.clipping import clipped
from tests.app.fakes import Face
from tests.app.history_page_driver import MIXED, damage, disagreements, judge, page_of, playing

SMALL = QSize(1280, 720)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("state", ["list", "empty", "doubted", "no-predictor", "unreadable"])
def test_nothing_is_cut_off_on_a_small_screen(
    opened: Callable[..., Face],
    state: str,
) -> None:
    face = opened([] if state == "empty" else MIXED)
    if state == "unreadable":
        damage(face, *range(1, len(MIXED) + 1))
    asks = state in ("doubted", "no-predictor")
    page = disagreements(face) if asks else page_of(face)
    page.resize(SMALL)
    if asks:
        judge(face, *((1234, {1: 0.01, 6: 0.99}) if state == "doubted" else (0, {})))
        face.wait_until(lambda: page.empty.headline.text() != "Comparing your answers with the reward model")
    elif state == "list":
        face.wait_until(lambda: playing(page, 6))
    face.wait_until(lambda: clipped(page) == [])
    assert page.size() == SMALL


def test_the_page_fits_its_screen_and_the_keyboard_reaches_all_of_it(mixed: Face) -> None:
    page = page_of(mixed)
    room = page.screen().availableSize()
    assert page.width() <= room.width() and page.height() <= room.height()
    reached = set()
    for _ in range(20):
        reached.add(page.focusWidget())
        QTest.keyClick(page, Qt.Key.Key_Tab)
    assert {page.list, page.pane, page.filter.tabs, page.filter.choice, page.filter.labeller} <= reached
    assert {page.filter.changed_only, page.filter.withdrawn_too} <= reached
    names = [widget.accessibleName() for widget in (page.list, page.pane, page.filter.choice, page.filter.labeller)]
    assert all(names) and all(page.pane.choices[choice].accessibleName() for choice in Choice)
