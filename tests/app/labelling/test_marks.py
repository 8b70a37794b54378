"""Numbers of answers that are announced, through the desktop if the window is not in front."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtGui import QIcon

from app.labelling.progress import Progress
from core.config import Config, replaced
from core.types import Choice
from tests.app.fakes import Face, make_query


def test_a_number_is_announced_once_whatever_is_taken_back() -> None:
    progress = Progress(replaced(Config(), query__first_labels=2))
    announced = []
    for back in (False, False, True, False, *[False] * 23):
        (progress.withdrawn if back else progress.answered)()
        if progress.passes_mark():
            announced.append(progress.labels)
    assert announced == [2, 25]
    progress.counted(60)
    progress.answered()
    assert not progress.passes_mark()


def test_training_starts_after_answers_that_tell_something() -> None:
    progress = Progress(replaced(Config(), query__first_labels=2))
    missing = []
    for unsure in (True, False, True, False):
        progress.answered(unsure)
        missing.append((progress.labels_to_start, progress.passes_mark()))
    assert missing == [(2, ""), (1, ""), (1, ""), (0, "Training starts.")]
    progress.answered(unsure=True)
    assert progress.passes_mark() == ""
    progress.withdrawn(unsure=True)
    progress.withdrawn(unsure=False)
    assert progress.labels_to_start == 1
    progress.counted(3, unsure=1)
    assert progress.labels_to_start == 0


def test_a_mark_before_the_start_says_how_many_are_missing() -> None:
    progress = Progress(replaced(Config(), query__first_labels=30))
    progress.counted(24, unsure=2)
    progress.answered()
    assert progress.passes_mark() == "Training starts after 7 more."


def test_taking_back_an_answer_starts_training_no_second_time() -> None:
    progress = Progress(replaced(Config(), query__first_labels=2))
    progress.counted(2)
    progress.course.reported(1000, 4.0, None)
    progress.withdrawn()
    assert progress.labels_to_start == 0


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
    """A window over a session without answers, once the answers have been counted."""
    made = open_face(labels=100)
    with made.wait_signal(made.labelling.trouble_arose):
        made.labelling.redo()
    return made


def behind(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program's window is in front."""
    monkeypatch.setattr(face.window, "isActiveWindow", lambda: False)


def test_a_number_of_answers_is_announced_in_the_window_and_outside_only_if_it_is_behind(
    face: Face, tray: FakeTray, monkeypatch: pytest.MonkeyPatch
) -> None:
    face.offer(*[make_query() for _ in range(3)])
    face.controller.progress.counted(24)
    face.labelling.answer(Choice.LEFT)
    face.wait_until(lambda: "25 answers given" in face.window.statusBar().currentMessage())
    assert tray.messages == []
    behind(face, monkeypatch)
    face.wait_until(lambda: face.labelling.idle and face.labelling.pairs.shown is not None)
    face.controller.progress.counted(99)
    face.labelling.answer(Choice.LEFT)
    face.wait_until(lambda: len(tray.messages) == 1)
    assert tray.messages[0][0] == "100 answers given" in face.window.statusBar().currentMessage()
    assert tray.shown
    face.close()
    assert not tray.shown
