"""Replays of earlier policies: rendered one at a time, cached, refused, and requested again after a restart."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.live.demonstrations import Demonstration
from app.session.controller import State
from core.service_events import ReplayRefused, ReplayRendered, ReplayRequested
from core.session.policy_snapshots import PolicySnapshots
from tests.app.fakes import Face, make_frames
from tests.app.live_view_driver import demonstration, learned, open_demo, rewards

STEPS = (0, 10**10, 2 * 10**10)


def requests(face: Face) -> list[Any]:
    return face.engine["clips"].got(ReplayRequested)


def request(face: Face, number: int) -> Any:
    """Wait for the request with this number, and return it."""
    face.wait_until(lambda: len(requests(face)) >= number)
    return requests(face)[number - 1]


def render(face: Face) -> None:
    """Answer the last request."""
    event = ReplayRendered(requests(face)[-1].token, make_frames(), rewards(1, 2, 3), {"backflips_per_episode": 2.0})
    face.engine["clips"].play(event)


def test_the_slider_shows_the_selected_policy(face: Face) -> None:
    face.window.true_reward.hide(False)
    learned(face, *STEPS[:2])
    live = face.window.live
    live.slider.setValue(0)
    assert request(face, 1).weights["weights"].tolist() == [0] * 4
    assert live.slider.accessibleDescription() == live.loading.text() == "At the start" and live.loading.isVisible()
    assert live.title.text() == "Newest policy" and not live.figure.text()  # until its picture arrives
    render(face)
    face.wait_until(lambda: live.policy.shown is not None)
    assert live.title.text() == "At the start" and not live.loading.isVisible()
    assert live.policy.shown and live.policy.shown.snapshot == face.controller.policy_history.snapshots[0]
    assert live.policy.reward_timeline.predicted.tolist() == [1, 2, 3]
    assert live.figure.text() == "Backflips per episode (8 s): 2.0 in this episode"
    live.set_live(demonstration())
    assert live.policy.shown.snapshot is not None  # the requested policy stays
    QTest.keyClick(face.window, Qt.Key.Key_Backslash)
    assert live.policy.shown.snapshot is None and live.snapshot is None
    live.slider.setValue(0)
    face.wait_until(lambda: live.policy.shown is not None and live.policy.shown.snapshot is not None)
    assert len(requests(face)) == 1  # it was cached


def test_only_the_last_request_waits_while_a_replay_is_rendered(face: Face) -> None:
    learned(face, *STEPS)
    replays, snapshots = face.controller.replays, face.controller.policy_history.snapshots
    drawn: list[Demonstration] = []
    replays.replay_drawn.connect(drawn.append)
    replays.show(snapshots[0])
    request(face, 1)
    replays.show(snapshots[1])
    replays.show(snapshots[2])
    render(face)
    assert request(face, 2).weights["weights"].tolist() == [2e10] * 4
    assert drawn == []  # the first is no longer wanted
    render(face)
    face.wait_until(lambda: [d.snapshot for d in drawn] == [snapshots[2]])
    replays.show(snapshots[0])
    assert [d.snapshot for d in drawn] == [snapshots[2], snapshots[0]]


def test_a_policy_that_cannot_be_shown_is_reported_and_the_slider_returns_to_the_newest(face: Face) -> None:
    learned(face, *STEPS[:2])
    live = face.window.live
    live.slider.setValue(0)
    refusal = ReplayRefused(request(face, 1).token, "It can't be shown: choose another one.")
    face.engine["clips"].play(refusal)
    face.wait_until(lambda: "can't be shown" in face.window.banner.text.text())
    assert live.snapshot is None
    PolicySnapshots(face.folder).files()[1].unlink()
    live.slider.setValue(1)
    face.wait_until(lambda: "can't be read" in face.window.banner.text.text())
    assert live.snapshot is None and len(requests(face)) == 1


def test_a_refused_replay_is_followed_by_the_one_requested_meanwhile(face: Face) -> None:
    learned(face, *STEPS[:2])
    replays, (first, second) = face.controller.replays, face.controller.policy_history.snapshots
    drawn: list[Demonstration] = []
    refused: list[str] = []
    replays.replay_drawn.connect(drawn.append)
    replays.replay_refused.connect(refused.append)
    replays.show(first)
    token = request(face, 1).token
    replays.show(second)
    face.engine["clips"].play(ReplayRefused(token, "It can't be shown: choose another one."))
    request(face, 2)
    render(face)
    face.wait_until(lambda: [d.snapshot for d in drawn] == [second])
    assert refused == []


def test_an_unreadable_policy_is_not_reported_after_another_was_refused(face: Face) -> None:
    learned(face, *STEPS[:2])
    replays, (first, second) = face.controller.replays, face.controller.policy_history.snapshots
    refused: list[str] = []
    replays.replay_refused.connect(refused.append)
    disk, gate, read = face.controller.checkpointer.disk, threading.Event(), list[object]()
    disk.do(gate.wait)
    PolicySnapshots(face.folder).files()[0].unlink()
    replays.show(first)
    face.die("clips")
    replays.show(second)
    disk.do(lambda: None, read.append)
    gate.set()
    face.wait_until(lambda: bool(read))
    assert refused == ["Earlier policies can be watched while the session runs."]


def test_a_restarted_clips_job_gets_the_request_again(face: Face) -> None:
    learned(face, *STEPS[:2])
    face.window.live.slider.setValue(0)
    request(face, 1)
    face.die("clips")
    face.controller.restart()
    face.wait_until(lambda: len(requests(face)) == 1 and not face.window.banner.shows_failure)
    render(face)
    face.wait_until(lambda: face.window.live.policy.shown is not None)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("rendering", [False, True])
def test_no_replay_is_requested_while_the_session_is_stopped(face: Face, rendering: bool) -> None:
    learned(face, *STEPS[:2])
    live = face.window.live
    live.set_live(demonstration())
    live.go_live()
    if rendering:
        live.slider.setValue(0)
        request(face, 1)
    face.stop()
    with face.wait_signal(face.controller.replays.replay_refused):
        live.slider.setValue(1)
    assert "while the session runs" in face.window.banner.text.text()
    assert live.snapshot is None and live.title.text() == "Newest: after 12 answers, 120k steps"
    face.window.pause_action.trigger()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert requests(face) == []
    face.press(Qt.Key.Key_PageUp)  # on keyboards where [ takes AltGr
    request(face, 1)
    render(face)
    newest = face.controller.policy_history.snapshots[1]
    face.wait_until(lambda: live.policy.shown is not None and live.policy.shown.snapshot == newest)


def test_the_untrained_policy_without_a_figure_is_shown_after_a_stop_too(face: Face) -> None:
    learned(face, *STEPS[:2])
    live, before = face.window.live, face.controller.policy_history.snapshots
    live.set_live(demonstration())
    live.slider.setValue(0)
    request(face, 1)
    render(face)
    face.wait_until(lambda: live.policy.shown is not None and live.policy.shown.snapshot is not None)
    live.go_live()
    face.stop()
    face.window.pause_action.trigger()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    again = face.controller.policy_history.snapshots
    assert again[0] is not before[0] and again[0] == before[0]
    live.slider.setValue(0)
    face.wait_until(lambda: live.policy.shown is not None and live.policy.shown.snapshot == again[0])


def test_a_replay_displaced_by_demo_mode_is_shown_after_leaving_it(face: Face) -> None:
    learned(face, *STEPS)
    live = face.window.live
    live.slider.setValue(1)
    request(face, 1)
    open_demo(face)
    render(face)
    face.wait_until(lambda: len(requests(face)) == 2)
    assert live.loading.isVisible()
    face.window.watching_commands.leave_demo()
    face.wait_until(lambda: live.policy.shown is not None and live.policy.shown.snapshot == live.snapshot)
    assert not live.loading.isVisible()


def test_the_newest_policy_of_demo_mode_is_shown_after_leaving_it(face: Face) -> None:
    learned(face, *STEPS)
    live, newer = face.window.live, replace(demonstration(), env_steps=500_000)
    live.set_live(demonstration())
    open_demo(face)
    live.loading.show()  # of a snapshot that was to be shown
    live.set_live(newer)
    assert live.policy.shown is not newer and not live.loading.isVisible()
    face.window.watching_commands.leave_demo()
    assert live.policy.shown is newer and live.policy.clock.playing
