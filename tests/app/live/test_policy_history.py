"""Policy snapshots: saved while the policy learns, listed when a session opens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest
from PySide6.QtCore import Qt

from core.events import JobState, PreferenceAdded, RewardPublished
from core.session.policy_snapshots import PolicySnapshots, SnapshotInfo
from core.session.routing import JOBS
from core.session.session import Session
from tests.app.fakes import Face, make_query
from tests.app.live_view_driver import learned, published, rewards, snapshot_steps
from tests.app.tape import report


def test_policies_are_saved_when_due_with_their_figures(face: Face) -> None:
    learned(face, 0)
    face.offer(make_query())
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: len(face.engine["reward"].got(PreferenceAdded)) == 1)
    face.engine["rollout"].play(report(5000))
    face.wait_until(lambda: face.controller.progress.env_steps == 5000)
    face.engine["policy"].play(published(1))  # not due
    learned(face, 10**10)
    saved = PolicySnapshots(face.folder)
    assert [(info.env_steps, info.labels) for info in saved.infos()] == [(0, 0), (10**10, 1)]
    assert saved.infos()[1].measure == 2.5 and 0 < saved.infos()[1].seconds <= face.controller.progress.seconds
    assert saved.load(10**10)[1]["weights"].tolist() == [1e10] * 4
    assert face.window.live.slider.maximum() == 2


def test_a_policy_from_before_the_last_one_is_saved_in_its_place(face: Face) -> None:
    """Training has been resumed from an earlier checkpoint."""
    learned(face, 0, 10**10, 3 * 10**10, 2 * 10**10)
    assert snapshot_steps(face.controller) == [0, 10**10, 2 * 10**10]


def test_an_opened_session_lists_its_snapshots_and_reports_damage(
    open_face: Callable[..., Face], caplog: pytest.LogCaptureFixture
) -> None:
    first = open_face()
    saved = PolicySnapshots(first.folder)
    for steps in (500, 900):
        saved.add(SnapshotInfo(steps, 3, 600.0, 0.25), {"weights": np.zeros(2, np.float32)}, always=True)
    first.close()
    saved.files()[1].write_bytes(b"spoiled")
    again = open_face()
    first.wait_until(lambda: snapshot_steps(again.controller) == [500])
    assert again.controller.progress.seconds_before == 600
    assert again.window.live.slider.maximum() == 1 and again.window.live.slider.isEnabled()
    first.wait_until(lambda: "One earlier policy is damaged" in again.window.banner.text.text())
    assert "is damaged" in caplog.text


def test_a_failed_snapshot_is_reported_once_and_training_continues(face: Face) -> None:
    (face.folder / "policies").write_text("in the way")
    reports: list[str] = []
    face.controller.policy_history.trouble_arose.connect(reports.append)
    for steps in (0, 10**9, 2 * 10**9):
        face.engine["policy"].play(published(steps))
    face.wait_until(lambda: reports != [])
    face.answer_another()
    assert len(reports) == 1 and "can't be written" in reports[0]


def test_a_reopened_session_sends_the_clips_job_its_reward(open_face: Callable[..., Face]) -> None:
    first = open_face()
    first.close()
    states = {name: JobState({"reward_mean": rewards(1, 2), "x": rewards(3)}, {"n": 1}) for name in JOBS}
    with closing(Session.open(first.folder)) as session:
        session.save(7, states)
    again = open_face()
    first.wait_until(lambda: len(again.engine["clips"].got(RewardPublished)) == 1)
    (event,) = again.engine["clips"].got(RewardPublished)
    assert {name: weights.tolist() for name, weights in event.weights.items()} == {"mean": [1, 2]}


def test_policies_set_aside_with_damaged_checkpoints_are_not_listed(open_face: Callable[..., Face]) -> None:
    first = open_face()
    PolicySnapshots(first.folder).add(
        SnapshotInfo(500, 3, 60.0, 0.25), {"weights": np.zeros(2, np.float32)}, always=True
    )
    first.close()
    (first.folder / "checkpoints").mkdir(exist_ok=True)
    for path in (first.folder / "checkpoints").iterdir():
        path.unlink()
    (first.folder / "checkpoints" / "00000001.safetensors").write_bytes(b"damaged")
    again = open_face()
    again.wait_until(lambda: "were set aside" in again.window.banner.text.text())
    again.wait_until(lambda: snapshot_steps(again.controller) == [])
