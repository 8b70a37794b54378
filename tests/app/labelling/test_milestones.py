"""Milestones: expected in the status strip, announced once, through the desktop if the window is not in front."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtGui import QIcon

from app.labelling.milestones import Milestone, MilestoneTracker, milestones
from app.labelling.progress import Progress
from core.config import Config, replaced
from core.types import Choice
from tests.app.fakes import Clock, Face, make_query


@pytest.mark.parametrize(
    ("target", "labels"),
    [(100, (25, 50, 75, 100)), (30, (8, 15, 23, 30)), (2, (1, 2)), (0, ())],
)
def test_they_are_quarters_rounded_up(target: int, labels: tuple[int, ...]) -> None:
    assert tuple(milestone.labels for milestone in milestones(target)) == labels


def test_each_is_reached_once_whatever_is_taken_back() -> None:
    tracker = MilestoneTracker(8)
    counts = (1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 7, 8)
    reached = [(labels, found.percent) for labels in counts if (found := tracker.reached(labels))]
    assert reached == [(2, 25), (4, 50), (6, 75), (8, 100)]
    tracker = MilestoneTracker(8)
    tracker.start(5)
    assert tracker.reached(5) is None and tracker.reached(4) is None
    assert tracker.reached(6) == Milestone(75, 6)


def test_minutes_to_the_next_one_follow_the_persons_own_pace() -> None:
    clock = Clock()
    progress = Progress(replaced(Config(), labels=100), clock)
    assert progress.next_milestone == Milestone(25, 25) and progress.minutes_to_milestone is None
    for _ in range(10):
        progress.answered()
        clock.now += 5.0
    assert progress.labels_per_minute == pytest.approx(12)
    assert progress.minutes_to_milestone == pytest.approx(15 / 12)
    progress.counted(99)
    assert progress.minutes_to_milestone == pytest.approx(1 / 12)
    progress.answered()
    assert progress.next_milestone is None and progress.minutes_to_milestone is None


class FakeTray:
    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.shown = False

    def icon(self) -> QIcon:
        return QIcon()

    def show(self) -> None:
        self.shown = True

    def showMessage(self, title: str, text: str, icon: QIcon, milliseconds: int) -> None:
        self.messages.append((title, text))

    def hide(self) -> None:
        self.shown = False


@pytest.fixture
def tray(face: Face, monkeypatch: pytest.MonkeyPatch) -> FakeTray:
    made = FakeTray()
    monkeypatch.setattr(face.window.notifier, "find_tray", lambda window: made)
    return made


@pytest.fixture
def face(open_face: Callable[..., Face]) -> Face:
    """Its answers, of which there are none, have been counted."""
    made = open_face(labels=100)
    with made.wait_signal(made.labelling.trouble_arose):
        made.labelling.redo()
    return made


def behind(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program's window is in front."""
    monkeypatch.setattr(face.window, "isActiveWindow", lambda: False)


def test_a_milestone_is_announced_in_the_window_and_outside_only_if_it_is_behind(
    face: Face, tray: FakeTray, monkeypatch: pytest.MonkeyPatch
) -> None:
    face.offer(*[make_query() for _ in range(3)])
    face.controller.progress.counted(24)
    face.labelling.answer(Choice.LEFT)
    face.wait_until(lambda: "25 % of this session" in face.window.statusBar().currentMessage())
    assert tray.messages == []
    behind(face, monkeypatch)
    face.wait_until(lambda: face.labelling.idle and face.labelling.pairs.shown is not None)
    face.controller.progress.counted(99)
    face.labelling.answer(Choice.LEFT)
    face.wait_until(lambda: len(tray.messages) == 1)
    assert "100 %" in tray.messages[0][1] and "100 %" in face.window.statusBar().currentMessage()
    assert tray.shown
    face.close()
    assert not tray.shown
