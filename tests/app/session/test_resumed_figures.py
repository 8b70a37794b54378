"""Figures of a reopened or imported session, which are right even before the first report of this run."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app import settings
from core.config import Config, replaced
from core.events import JobState, Waited
from core.metrics import Metrics
from core.preferences.schedule import FINISHED
from core.session import metrics_file
from core.session.archive import export_session
from core.session.job_states import KEPT_REWARD
from core.session.policy_snapshots import SnapshotInfo
from core.session.routing import JOBS
from core.session.session import Session
from core.types import Choice
from tests.app.fakes import DRIVEN, Face, make_query, take_file
from tests.app.start_page_driver import Page, make_session

STEPS, ANSWERS = 123_456, 23


@pytest.fixture
def taught(tmp_path: Path) -> Path:
    """A session with answers, a checkpoint and a policy, but no summary."""
    folder = tmp_path / "session"
    session = Session.create(folder, replaced(Config(), **{"teacher": "human", **DRIVEN}))
    with closing(session), closing(session.store()) as store:
        for _ in range(ANSWERS):
            store.add(make_query(), Choice.LEFT, "human")
        states = {name: JobState({}, {}) for name in JOBS}
        weights = {f"{KEPT_REWARD}weight": np.ones(3, np.float32)}
        states["rollout"] = JobState(weights, {"env_steps": STEPS, "agreement": 0.75, "agreement_weight": 1.0})
        session.save(1, states)
        session.snapshots().add(SnapshotInfo(STEPS, ANSWERS, 60.0, 1.0), {"weight": np.ones(3, np.float32)})
    return folder


def test_earlier_figures_are_shown_as_soon_as_the_session_is_open(taught: Path, open_face: Callable[..., Face]) -> None:
    face = open_face(taught)
    face.window.refresh()
    names = {part.accessibleName() for part in face.window.status_strip.children() if hasattr(part, "accessibleName")}
    assert {f"Answers given: {ANSWERS}", "Predictors agree on new pairs: 75%"} <= names
    assert face.controller.progress.env_steps == STEPS
    assert face.window.empty.headline.text().startswith("Getting ready: ")
    assert face.window.empty.detail.text() == "Starting the simulation, reward model and policy."
    face.window.training_line.refresh(at_once=True)
    assert face.window.training_line.text.text() == "Training is starting."
    face.learn()
    face.window.refresh()
    face.window.training_line.refresh(at_once=True)
    assert face.window.training_line.text.text() == "Training is running."
    assert "Getting ready" not in face.window.empty.headline.text()
    assert not face.window.live.policy.reward_timeline.known  # otherwise it would say that there is no reward


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("reached", "result"), [(6.0, "rose"), (4.0, "did not rise")])
def test_the_gain_of_a_finish_is_known_after_a_restart(
    taught: Path, open_face: Callable[..., Face], reached: float, result: str
) -> None:
    metrics, begun = Metrics(), STEPS - DRIVEN["rollout__finish_steps"]
    for steps, value in ((0, math.nan), (begun - 800, 4.0), (begun - 400, 4.2), (begun + 5000, 5.0), (STEPS, reached)):
        metrics.append("predicted return", steps / 1000, value)
    metrics_file.save(taught, metrics)
    face = open_face(taught)
    face.engine["rollout"].play(Waited("rollout", FINISHED))
    face.wait_until(lambda: face.controller.course.finished)
    face.window.training_line.refresh(at_once=True)
    assert face.window.training_line.text.text().startswith(f"Finished: the predicted return {result}.")


def test_a_failure_before_the_first_checkpoint_names_the_one_of_the_previous_run(
    taught: Path, open_face: Callable[..., Face]
) -> None:
    face = open_face(taught)
    face.die("reward")
    assert "the last checkpoint is from an earlier run." in face.window.banner.text.text()
    face.restart()
    assert face.controller.progress.env_steps == STEPS


def test_an_imported_session_is_listed_with_its_steps(taught: Path, page: Page, tmp_path: Path) -> None:
    with closing(Session.open(taught)) as session:
        export_session(session, tmp_path / "mine.somersault")
    page.show()
    page.press(Qt.Key.Key_I, Qt.KeyboardModifier.ControlModifier)
    take_file(page.window, tmp_path / "mine.somersault")
    page.wait_until(lambda: page.chosen == "mine")
    spoken = page.rows.session_model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert f"{ANSWERS} answers" in spoken and f"{STEPS:,} steps" in spoken


def test_no_best_result_is_shown_before_any_answer(page: Page) -> None:
    settings.keep("plots/hide_true_reward", False)
    folder = make_session(page.root, "fresh", labels=16)
    text = (folder / "summary.json").read_text()
    (folder / "summary.json").write_text(text.replace('"labels": 16', '"labels": 0'))
    page.show()
    assert "Best" not in page.rows.session_model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
