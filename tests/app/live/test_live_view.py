"""The live view alone: the timeline of predicted reward, and the slider."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.live.live_view import LiveView
from core.session.policy_snapshots import SnapshotInfo
from tests.app.windows.test_demo import demonstration

SNAPSHOTS = tuple(SnapshotInfo(1000 * i, 2 * i, 30.0 * i, i / 2 if i else math.nan) for i in range(9))


@pytest.fixture
def view(qtbot: QtBot) -> LiveView:
    made = LiveView("Backflips an episode (8 s)")
    qtbot.addWidget(made)
    made.show()
    return made


def test_the_slider_stays_at_its_snapshot_while_others_come_and_go(view: LiveView) -> None:
    view.set_snapshots(SNAPSHOTS[:3])
    assert view.slider.value() == 3 and view.snapshot is None
    view.set_snapshots(SNAPSHOTS)
    assert view.slider.value() == 9 and view.snapshot is None
    view.slider.setValue(2)
    view.set_snapshots((SNAPSHOTS[0], *SNAPSHOTS[2:]))
    assert view.slider.value() == 1 and view.snapshot == SNAPSHOTS[2]
    view.set_snapshots((SNAPSHOTS[0], SNAPSHOTS[4]))
    assert view.snapshot is None  # its snapshot was thinned out


def test_snapshots_that_the_slider_passes_over_are_not_requested(view: LiveView, qtbot: QtBot) -> None:
    chosen: list[SnapshotInfo | None] = []
    view.snapshot_chosen.connect(chosen.append)
    view.set_snapshots(SNAPSHOTS)
    view.set_live(demonstration())
    for value in range(8, 1, -1):
        view.slider.setValue(value)
    assert chosen == [] and view.title.text() == "After 4 answers, 60 seconds"
    qtbot.waitUntil(lambda: chosen == [SNAPSHOTS[2]])
    view.go_live()
    assert chosen == [SNAPSHOTS[2], None]


def test_the_present_values_of_signals_are_shown_when_asked_for(view: LiveView, qtbot: QtBot) -> None:
    plain = demonstration()
    view.set_live(plain)
    assert not view.show_signals.isVisible()
    heights = np.linspace(0, 1, 40, dtype=np.float32)
    view.policy.play_now(replace(plain, signals={"height": heights, "contact[foot]": heights > 2}))
    assert view.show_signals.isVisible() and not view.signal_values.isVisible()
    view.show_signals.setFocus()
    qtbot.keyClick(view.show_signals, Qt.Key.Key_Space)
    table = view.signal_values
    rows = [[table.item(row, column).text() for column in range(2)] for row in range(table.rowCount())]
    assert table.isVisible() and [row[0] for row in rows] == ["height", "contact[foot]"] and rows[1][1] == "0.00"
    qtbot.waitUntil(lambda: float(table.item(0, 1).text()) > 0.05)  # they follow the picture
