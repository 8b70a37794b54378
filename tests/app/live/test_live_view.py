"""The live view: its slider, its title and the newest recording."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.live.live_view import LiveView
from core.events import DemonstrationRecorded, Waited
from core.service_events import ClipsRequested
from core.session.policy_snapshots import SnapshotInfo
from tests.app.fakes import Face, make_query, make_segment
from tests.app.live_view_driver import demonstration

SNAPSHOTS = tuple(SnapshotInfo(1000 * i, 2 * i, 30.0 * i, i / 2 if i else math.nan) for i in range(9))


@pytest.fixture
def view(qtbot: QtBot) -> LiveView:
    made = LiveView("Backflips per episode (8 s)")
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
    assert chosen == [] and view.loading.text() == "After 4 answers, 2k steps"
    qtbot.waitUntil(lambda: chosen == [SNAPSHOTS[2]])
    view.go_live()
    assert chosen == [SNAPSHOTS[2], None]


def test_an_undone_finish_clears_the_newest_policy(view: LiveView, qtbot: QtBot) -> None:
    """After an undone finish the newest snapshot stands in for the newest policy until the next demonstration."""
    view.set_snapshots(SNAPSHOTS)
    view.set_live(demonstration())
    chosen: list[SnapshotInfo | None] = []
    view.snapshot_chosen.connect(chosen.append)
    view.set_snapshots(SNAPSHOTS[:5])
    assert view.live is None and chosen == [SNAPSHOTS[4]] and view.slider.value() == 5
    assert view.loading.isVisible() and view.loading.text() == "After 8 answers, 4k steps"
    view.set_live(demonstration())
    view.step(-1)  # to the snapshot that was to stand in
    qtbot.waitUntil(lambda: chosen == [SNAPSHOTS[4]] * 2)


def test_a_long_title_ends_with_an_ellipsis_where_the_panel_is_narrow(view: LiveView, qtbot: QtBot) -> None:
    view.set_live(replace(demonstration(), labels=123_456_789, env_steps=1_970_000))
    view.policy.clock.halt()
    assert view.title.text() == "Newest: after 123,456,789 answers, 1.97M steps"
    view.resize(view.minimumSizeHint())
    qtbot.waitUntil(lambda: view.title.elided)
    view.resize(1000, 400)
    qtbot.waitUntil(lambda: not view.title.elided)


def test_title_figure_and_picture_change_together(view: LiveView, qtbot: QtBot) -> None:
    view.set_snapshots(SNAPSHOTS)
    view.set_live(demonstration())
    newest = "Newest: after 12 answers, 120k steps"
    assert view.title.text() == newest and view.figure.text().endswith(": 3.0 in this episode")
    view.slider.setValue(4)
    assert view.loading.isVisible()
    qtbot.waitSignal(view.snapshot_chosen).wait()
    assert (
        view.title.text() == newest
        and view.figure.text().endswith(": 3.0 in this episode")
        and view.policy.shown == view.live
    )
    replay = replace(demonstration(), env_steps=4000, labels=8, figure=7.0, snapshot=SNAPSHOTS[4])
    view.set_replay(replay)
    assert view.policy.shown is replay and view.title.text() == "After 8 answers, 4k steps"
    assert view.figure.text().endswith(
        ": 7.0 in this episode"
    )  # of the episode on screen, not of the snapshot's last ones
    assert not view.loading.isVisible()
    view.go_live()
    assert view.title.text() == newest and view.policy.shown is view.live


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_a_click_on_the_groove_moves_the_slider_to_that_place(view: LiveView, share: float) -> None:
    view.set_snapshots(SNAPSHOTS)
    place = view.slider.rect().center()
    place.setX(round(share * (view.slider.width() - 1)))
    QTest.mouseClick(view.slider, Qt.MouseButton.LeftButton, pos=place)
    assert view.slider.value() == pytest.approx(share * len(SNAPSHOTS), abs=0.5)


def test_the_newest_recording_is_shown_next_with_its_answers_and_steps(face: Face) -> None:
    shown: list[tuple[int, int]] = []
    face.window.live.policy.demonstration_started.connect(lambda d: shown.append((d.labels, d.env_steps)))
    face.offer(make_query(), make_query(), make_query())  # clips for labelling are rendered first
    face.controller.progress.counted(7)
    for steps in (1000, 2000, 3000):
        face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(6, np.float32), steps))
    face.wait_until(lambda: len(shown) == 1)
    face.controller.progress.counted(9)
    face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(6, np.float32), 4000))

    def newest_is_shown() -> bool:
        face.engine["rollout"].play(Waited("rollout", "training waits"))  # an idle job repeats this event
        return shown[-1] == (9, 4000)

    face.wait_until(newest_is_shown)
    assert face.window.live.title.text() == "Newest: after 9 answers, 4k steps"
    assert (7, 2000) not in shown  # out of date before it could be rendered


def test_an_episode_from_before_training_gives_way_at_once(face: Face) -> None:
    shown: list[int] = []
    face.window.live.policy.demonstration_started.connect(lambda d: shown.append(d.env_steps))
    face.offer(make_query(), make_query(), make_query())
    face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(0, np.float32), 1000))
    face.wait_until(lambda: shown == [1000])
    face.window.live.policy.clock.halt()  # its loop does not end
    face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(6, np.float32), 2000))
    face.wait_until(lambda: shown == [1000, 2000])


def test_a_recording_is_rendered_again_after_its_renderer_ended(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, asked = list[int](), list[object]()
    face.window.live.policy.demonstration_started.connect(lambda d: shown.append(d.env_steps))
    monkeypatch.setattr(face.engine["clips"], "send", asked.append)
    face.engine["rollout"].play(DemonstrationRecorded(make_segment(), np.zeros(0, np.float32), 1000))

    def requested() -> bool:
        face.controller.demonstrations.draw_if_due(pair_ready=True)
        return any(isinstance(event, ClipsRequested) for event in asked)

    face.wait_until(requested)
    face.die("clips")
    face.restart()
    face.wait_until(lambda: shown == [1000])


def test_current_signal_values_are_shown_on_request(view: LiveView, qtbot: QtBot) -> None:
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
    qtbot.waitUntil(lambda: float(table.item(0, 1).text()) > 0.05)  # the values follow the picture
    view.activateWindow()
    qtbot.waitUntil(view.show_signals.hasFocus)
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton)
    assert view.show_signals.hasFocus()  # a click does not take the focus away
