"""The live view: its ribbon, and the slider back through the policies of the past."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.live.demonstrations import Demonstration
from app.live.live_view import LiveView
from app.live.reward_timeline import RewardTimeline, colour, heights
from app.session.controller import State
from app.style import theme
from core.events import (
    JobState,
    PolicyPublished,
    PreferenceAdded,
    ReplayRefused,
    ReplayRendered,
    ReplayRequested,
    RewardPublished,
)
from core.session.policy_snapshots import PolicySnapshots, SnapshotInfo
from core.session.routing import JOBS
from core.types import Float32
from tests.app.fakes import Face, make_frames, make_query
from tests.app.windows.test_demo import demonstration
from tests.app.windows.test_main import report

Take = Callable[[QWidget, str], None]


def rewards(*values: float) -> Float32:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("predicted", "columns", "expected"),
    [
        (rewards(0, 2.5, -2.5, 1), 4, [0, 1, -1, 0.4]),
        (rewards(0, 2.5, -2.5, 1), 2, [0.5, -0.3]),
        (rewards(5, -9), 4, [1, 1, -1, -1]),
        (rewards(1, 2, 3), 1, [0.8]),
        (rewards(1, 2), 3, [0.4, 0.6, 0.8]),
    ],
)
def test_the_ribbon_is_as_high_as_the_reward_of_its_steps(
    predicted: Float32, columns: int, expected: list[float]
) -> None:
    assert heights(predicted, columns).tolist() == pytest.approx(expected)


def test_what_is_above_the_mean_is_green_and_what_is_below_blue() -> None:
    assert colour(1.0).name() == theme.GREEN and colour(-1.0).name() == theme.BLUE
    assert colour(1.0).alphaF() == 1.0 and colour(-0.5).alphaF() == pytest.approx(0.675, abs=1e-4)


@pytest.fixture
def ribbon(qtbot: QtBot) -> RewardTimeline:
    made = RewardTimeline()
    qtbot.addWidget(made)
    made.setFixedSize(120, 34)
    made.show()
    return made


def column(ribbon: RewardTimeline, x: int) -> tuple[bool, bool]:
    """Whether something is drawn at the top of this column, and at its bottom."""
    image = ribbon.grab().toImage()
    panel = QColor(theme.PANEL)
    return image.pixelColor(x, 2) != panel, image.pixelColor(x, 31) != panel


def test_the_ribbon_goes_up_for_reward_and_down_for_none(ribbon: RewardTimeline) -> None:
    ribbon.set_predicted(rewards(2.5, 0, -2.5))
    ribbon.set_share(0.5)
    assert column(ribbon, 20) == (True, False)
    assert column(ribbon, 50) == (False, False)
    assert column(ribbon, 100) == (False, True)


def test_the_head_goes_along(ribbon: RewardTimeline) -> None:
    ribbon.set_predicted(rewards(0, 0))
    for share, x in ((0.0, 0), (0.25, 30), (0.5, 60), (0.999, 118)):
        ribbon.set_share(share)
        image = ribbon.grab(QRect(0, 0, 120, 34)).toImage()
        assert image.pixelColor(x, 3) == QColor(theme.TEXT)
        assert image.pixelColor((x + 40) % 120, 3) == QColor(theme.PANEL)


def moments(count: int) -> tuple[SnapshotInfo, ...]:
    return tuple(SnapshotInfo(1000 * i, 2 * i, 30.0 * i, i / 2 if i else math.nan) for i in range(count))


def published(steps: int) -> PolicyPublished:
    return PolicyPublished(steps, {"weights": np.full(4, steps, np.float32)}, steps)


def learned(face: Face, qtbot: QtBot, *steps: int) -> None:
    """The policy has learned, and these of its past are kept."""
    for number in steps:
        face.engine["policy"].play(published(number))
        qtbot.waitUntil(lambda number=number: [m.env_steps for m in face.controller.past.moments][-1:] == [number])


def requests(face: Face) -> list[Any]:
    return face.engine["clips"].got(ReplayRequested)


def rendered(face: Face, predicted: Float32 | None = None) -> None:
    """The clips job answers the last request."""
    predicted = rewards(1, 2, 3) if predicted is None else predicted
    event = ReplayRendered(requests(face)[-1].token, make_frames(), predicted, {"backflips_per_episode": 2.0})
    face.engine["clips"].play(event)


def test_policies_are_kept_as_they_learn_with_what_was_known_then(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0)
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: len(face.engine["reward"].got(PreferenceAdded)) == 1)
    face.engine["rollout"].play(report(5000))
    qtbot.waitUntil(lambda: face.controller.progress.env_steps == 5000)
    learned(face, qtbot, 10**10)
    kept = PolicySnapshots(face.folder)
    assert [(m.env_steps, m.labels) for m in kept.infos()] == [(0, 0), (10**10, 1)]
    assert kept.infos()[1].measure == 2.5 and 0 < kept.infos()[1].seconds < 60
    assert kept.load(10**10)[1]["weights"].tolist() == [1e10] * 4
    assert face.window.live.slider.maximum() == 2


def test_policies_that_are_not_due_are_let_go(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0)
    face.engine["policy"].play(published(1))
    face.engine["policy"].play(PolicyPublished(2, {"weights": np.zeros(4, np.float32)}))  # nobody knows of when
    learned(face, qtbot, 10**10)
    assert PolicySnapshots(face.folder).env_steps() == [0, 10**10]


def test_taken_back_to_before_them_later_policies_go(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0, 10**10, 3 * 10**10)
    face.engine["policy"].play(published(2 * 10**10))
    qtbot.waitUntil(lambda: [m.env_steps for m in face.controller.past.moments] == [0, 10**10, 2 * 10**10])
    assert PolicySnapshots(face.folder).env_steps() == [0, 10**10, 2 * 10**10]


def test_a_reopened_session_has_its_past_and_its_minutes(open_face: Callable[..., Face], qtbot: QtBot) -> None:
    first = open_face()
    PolicySnapshots(first.folder).add(
        SnapshotInfo(500, 3, 600.0, 0.25), {"weights": np.zeros(2, np.float32)}, always=True
    )
    first.close()
    again = open_face()
    qtbot.waitUntil(lambda: [m.env_steps for m in again.controller.past.moments] == [500])
    assert 600 <= again.controller.progress.seconds < 660
    assert again.window.live.slider.maximum() == 1 and again.window.live.slider.isEnabled()


def test_a_damaged_policy_is_told_of_when_a_session_opens(
    open_face: Callable[..., Face], qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    first = open_face()
    kept = PolicySnapshots(first.folder)
    for steps in (0, 500):
        kept.add(SnapshotInfo(steps, 3, 600.0, 0.25), {"weights": np.zeros(2, np.float32)}, always=True)
    first.close()
    kept.files()[1].write_bytes(b"spoiled")
    again = open_face()
    qtbot.waitUntil(lambda: "One earlier policy is damaged" in again.window.banner.text.text())
    assert [m.env_steps for m in again.controller.past.moments] == [0]
    assert "is damaged" in caplog.text


def test_a_disk_that_takes_no_policy_is_told_of_once_and_stops_nothing(face: Face, qtbot: QtBot) -> None:
    (face.folder / "policies").write_text("in the way")
    told: list[str] = []
    face.controller.past.trouble_arose.connect(told.append)
    for steps in (0, 10**9, 2 * 10**9):
        face.engine["policy"].play(published(steps))
    qtbot.waitUntil(lambda: told != [])
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: len(face.answers()) == 1)
    assert len(told) == 1 and "can't be written" in told[0]


def test_the_slider_asks_for_a_policy_and_shows_it(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0, 10**10)
    live = face.window.live
    live.slider.setValue(0)
    qtbot.waitUntil(lambda: len(requests(face)) == 1)
    assert requests(face)[0].weights["weights"].tolist() == [0] * 4
    assert live.title.text() == "Untrained"
    rendered(face)
    qtbot.waitUntil(lambda: live.shown is not None)
    assert live.shown and live.shown.moment == face.controller.past.moments[0] and live.shown.figure == 2.0
    assert live.policy.ribbon.predicted.tolist() == [1, 2, 3]
    assert live.figure.text() == "Backflips an episode (8 s): 2.0"
    assert live.slider.accessibleDescription() == "Untrained"


def test_a_policy_seen_before_is_shown_at_once_and_the_present_one_is_never_far(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0, 10**10)
    live = face.window.live
    for value in (0, 1):
        live.slider.setValue(value)
        qtbot.waitUntil(lambda value=value: len(requests(face)) == value + 1)
        rendered(face)
        moment = face.controller.past.moments[value]
        qtbot.waitUntil(lambda moment=moment: live.shown is not None and live.shown.moment == moment)
    live.take(demonstration())
    assert live.shown and live.shown.moment is not None  # what was asked for stays
    QTest.keyClick(face.window, Qt.Key.Key_BracketLeft)
    qtbot.waitUntil(lambda: live.shown is not None and live.shown.moment == face.controller.past.moments[0])
    face.press(Qt.Key.Key_Backslash)
    assert live.shown and live.shown.moment is None and live.moment is None
    assert len(requests(face)) == 2


def test_while_one_is_drawn_only_the_last_that_is_wanted_comes_next(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0, 10**10, 2 * 10**10)
    replays, past = face.controller.replays, face.controller.past.moments
    replays.show(past[0])
    qtbot.waitUntil(lambda: len(requests(face)) == 1)
    replays.show(past[1])
    replays.show(past[2])
    drawn: list[Demonstration] = []
    replays.replay_drawn.connect(drawn.append)
    rendered(face)
    qtbot.waitUntil(lambda: len(requests(face)) == 2)
    assert requests(face)[1].weights["weights"].tolist() == [2e10] * 4
    assert drawn == []  # nobody wants the first any more
    rendered(face)
    qtbot.waitUntil(lambda: [d.moment for d in drawn] == [past[2]])
    replays.show(past[0])
    assert [d.moment for d in drawn] == [past[2], past[0]]  # but it is remembered


def test_only_so_many_bytes_of_pictures_are_remembered(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.live.replays._REMEMBERED", 2 * make_frames().pixels.nbytes)
    learned(face, qtbot, 0, 10**10, 2 * 10**10)
    replays, past = face.controller.replays, face.controller.past.moments
    for number in (0, 1, 2):
        replays.show(past[number])
        qtbot.waitUntil(lambda number=number: len(requests(face)) == number + 1)
        with qtbot.waitSignal(replays.replay_drawn):
            rendered(face)
    assert [key[0] for key in replays._drawn] == [10**10, 2 * 10**10]


def test_a_policy_that_cannot_be_shown_is_told_of_and_the_slider_goes_live(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0, 10**10)
    live = face.window.live
    live.slider.setValue(0)
    qtbot.waitUntil(lambda: len(requests(face)) == 1)
    face.engine["clips"].play(ReplayRefused(requests(face)[0].token, "It can't be shown: choose another one."))
    qtbot.waitUntil(lambda: "can't be shown" in face.window.banner.text.text())
    assert live.moment is None
    PolicySnapshots(face.folder).files()[1].unlink()
    live.slider.setValue(1)
    qtbot.waitUntil(lambda: "can't be read" in face.window.banner.text.text())
    assert live.moment is None and len(requests(face)) == 1


def test_a_clips_job_started_anew_is_asked_again(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0, 10**10)
    face.window.live.slider.setValue(0)
    qtbot.waitUntil(lambda: len(requests(face)) == 1)
    face.engine["clips"].die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    face.controller.restart()
    qtbot.waitUntil(lambda: len(requests(face)) == 1 and not face.window.banner.shows_failure)
    rendered(face)
    qtbot.waitUntil(lambda: face.window.live.shown is not None)


def test_while_the_session_is_stopped_no_other_policy_is_asked_for(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0, 10**10)
    live = face.window.live
    live.take(demonstration())
    live.go_live()
    with qtbot.waitSignal(face.controller.stopped):
        face.window.stop_action.trigger()
    with qtbot.waitSignal(face.controller.replays.replay_refused):
        face.press(Qt.Key.Key_BracketLeft)
    assert "start the session" in face.window.banner.text.text()
    assert live.moment is None and live.shown and live.shown.moment is None
    assert live.title.text() == "The policy now, after 120,000 steps"
    face.window.pause_action.trigger()
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    face.press(Qt.Key.Key_BracketLeft)
    qtbot.waitUntil(lambda: len(requests(face)) == 1)
    rendered(face)
    moment = face.controller.past.moments[1]
    qtbot.waitUntil(lambda: live.shown is not None and live.shown.moment == moment)


def test_before_the_present_policy_was_seen_the_newest_that_is_kept_stands_in(face: Face, qtbot: QtBot) -> None:
    learned(face, qtbot, 0, 10**10)
    live = face.window.live
    live.go_live()
    qtbot.waitUntil(lambda: len(requests(face)) == 1)
    assert requests(face)[0].weights["weights"].tolist() == [1e10] * 4
    rendered(face)
    qtbot.waitUntil(lambda: live.shown is not None)
    live.take(demonstration())
    live.policy._swap()  # the loop has ended
    assert live.shown and live.shown.moment is None
    assert live.title.text() == "The policy now, after 120,000 steps"


def test_a_reopened_session_tells_the_clips_job_of_its_reward(
    open_face: Callable[..., Face], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_face()
    states = {name: JobState({"reward_mean": rewards(1, 2), "x": rewards(3)}, {"n": 1}) for name in JOBS}
    first.controller.session.save(7, states)
    monkeypatch.setattr(type(first.controller.checkpoints), "request", lambda self, lost=(): False)
    first.close()
    again = open_face()
    qtbot.waitUntil(lambda: len(again.engine["clips"].got(RewardPublished)) == 1)
    assert {name: w.tolist() for name, w in again.engine["clips"].got(RewardPublished)[0].weights.items()} == {
        "mean": [1, 2]
    }


@pytest.fixture
def view(qtbot: QtBot) -> LiveView:
    made = LiveView("Backflips an episode (8 s)")
    qtbot.addWidget(made)
    made.show()
    return made


def test_the_slider_stays_at_its_policy_while_others_come_and_go(view: LiveView) -> None:
    all_of = moments(5)
    view.set_moments(all_of[:3])
    assert view.slider.value() == 3 and view.moment is None
    view.set_moments(all_of)
    assert view.slider.value() == 5 and view.moment is None
    view.slider.setValue(2)
    view.set_moments((all_of[0], *all_of[2:]))
    assert view.slider.value() == 1 and view.moment == all_of[2]
    view.set_moments((all_of[0], all_of[4]))
    assert view.moment is None  # it was thinned out


def test_what_a_slider_passes_over_is_not_asked_for(view: LiveView, qtbot: QtBot) -> None:
    asked: list[SnapshotInfo | None] = []
    view.moment_chosen.connect(asked.append)
    view.set_moments(moments(8))
    view.take(demonstration())
    for value in range(7, 1, -1):
        view.slider.setValue(value)
    assert asked == [] and view.title.text() == "After 4 answers, 60 seconds"
    qtbot.waitUntil(lambda: asked != [])
    assert asked == [moments(8)[2]]
    view.go_live()
    assert asked == [moments(8)[2], None]


def test_the_live_view_has_its_pictures(view: LiveView, picture: Take, qapp: QApplication) -> None:
    def take(name: str) -> None:
        qapp.processEvents()  # the layout follows the texts
        view.policy.player.show_frame(20)
        view.policy.ribbon.set_share(0.42)
        picture(view, name)

    view.resize(390, 340)
    take("live-empty")
    view.set_moments(moments(9))
    view.take(demonstration(predicted=False))
    view.halt()
    take("live-no-reward")
    view.policy.switch(demonstration())
    view.halt()
    take("live-now")
    view.slider.setValue(4)
    take("live-asked")
    assert view.title.text() == "After 8 answers, 2 minutes"
