"""A shown start window over a folder of sessions, with stand-ins for the renderers."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.behaviours.library import BehaviourLibrary
from app.behaviours.scenes import Scenes
from app.previews.previews import Previews
from app.session.library import SessionLibrary
from app.start_page.session_list import SessionList
from app.windows.start import StartWindow
from core.behaviours.robot_model import RobotModel
from core.config import Config
from core.errors import UserError
from core.events import Event, JobSpec
from core.service_events import (
    PracticePairDrawn,
    PracticeRequested,
    PreviewDrawn,
    PreviewRefused,
    PreviewRequested,
    SceneDrawn,
    SceneRequested,
)
from core.session import summary
from core.session.session import Session
from core.session.summary import Summary
from core.tasks import get_task
from core.tasks.base import Task
from core.types import Query, Segment
from tests.app.clipping import clipped
from tests.app.fakes import FakeProcess, make_frames
from tests.core.builders import query

CLIP = make_frames(48, 6)
"""What is drawn of each task."""


def practice_segment(task: Task, number: int) -> Segment:
    assert task.sizes
    rng, steps = np.random.default_rng(number), task.segment_steps
    seen, acted = (rng.uniform(-1, 1, (steps, size)).astype(np.float32) for size in task.sizes)
    return Segment(number, seen, acted, rng.uniform(-1, 1, (steps, 13)), None, 0)


def practice_pair(task: Task, number: int = 0) -> Query:
    """Return a pair of clips with the sizes of the task's own, which a session of the task accepts."""
    left, right = (practice_segment(task, 2 * number + side) for side in range(2))
    return query(number, left, right)


class Drawer(FakeProcess):
    """Stand-in renderer that draws at once, refuses tasks in `refused`, dies at `deadly` and never draws `ignored` ones.

    constant: signals that it reports as constant
    """

    constant: frozenset[str] = frozenset()
    refused: dict[str, str] = {}
    deadly: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def send(self, event: Event) -> None:
        super().send(event)
        if isinstance(event, SceneRequested) and event.behaviour not in self.ignored:
            picture = CLIP if event.still is None else make_frames(48, 1)
            self.play(SceneDrawn(event.token, picture, self.constant))
        if isinstance(event, PracticeRequested):
            task = get_task(event.behaviour)
            for number in range(event.pairs):
                self.play(PracticePairDrawn(event.token, practice_pair(task, number), CLIP, CLIP))
        if not isinstance(event, PreviewRequested) or event.task in self.ignored:
            return
        if event.task in self.deadly:
            self.die()
        elif event.task in self.refused:
            self.play(PreviewRefused(event.task, self.refused[event.task]))
        else:
            self.play(PreviewDrawn(event.task, CLIP))


class Drawers:
    """Factory of drawers with these attributes that remembers them."""

    def __init__(self, **attributes: object) -> None:
        self.attributes = attributes
        self.made: list[Drawer] = []

    def __call__(self, spec: JobSpec) -> Drawer:
        drawer = Drawer(spec)
        vars(drawer).update(self.attributes)
        self.made.append(drawer)
        return drawer

    @property
    def asked(self) -> list[str]:
        return [event.task for drawer in self.made for event in drawer.got(PreviewRequested)]


SWINGER = RobotModel(
    packed="AAAA",
    joints=("swing",),
    actions=("swing",),
    geoms=("arm",),
    timestep=0.002,
    integrator="euler",
    frame_skip=12,
    positions=1,
    velocities=1,
    plain=(),
    angles=(0,),
    sensed=0,
    start=(0.0,),
    on_floor=False,
    body="arm",
    height=0.5,
    distance=3.0,
    planar=True,
    fixed=True,
)
"""Facts that the fake import reports for a file called swinger.xml."""


class Page:
    """A shown start window over a folder of sessions; `opened` lists the sessions that were opened."""

    def __init__(self, qtbot: QtBot, folder: Path, **attributes: object) -> None:
        self.wait_until, self.root = qtbot.waitUntil, folder / "sessions"
        self.drawers = Drawers(**attributes)
        self.opened: list[Session] = []
        self.trash, self.closed = folder / "data" / "Trash", False
        self.trash.parent.mkdir(exist_ok=True)
        self.behaviours = folder / "behaviours"
        self.window = StartWindow(
            SessionLibrary(self.root),
            Previews(self.drawers, folder / "cache", folder / "goals"),
            BehaviourLibrary(self.behaviours, self._read_robot),
            Scenes(self.drawers),
        )
        self.window.opened.connect(self.opened.append)

    def _read_robot(self, path: Path) -> RobotModel:
        if path.stem != "swinger":
            raise UserError(f"{path} can't be used as a robot: it has no actuators.")
        return SWINGER

    @property
    def trashed(self) -> list[str]:
        """Names of the sessions in the desktop's trash, from its own records."""
        records = sorted((self.trash / "info").glob("*.trashinfo"))
        assert all((self.trash / "files" / record.stem).exists() for record in records)
        return [record.stem for record in records]

    @property
    def scenes(self) -> list[SceneRequested]:
        """Requested scenes."""
        return [event for drawer in self.drawers.made for event in drawer.got(SceneRequested)]

    @property
    def practices(self) -> list[PracticeRequested]:
        """Requested practice pairs."""
        return [event for drawer in self.drawers.made for event in drawer.got(PracticeRequested)]

    def show(self, width: int = 1280, height: int = 720) -> Page:
        self.window.resize(width, height)
        self.window.show()
        self.window.activateWindow()
        self.wait_until(self.window.isActiveWindow)
        self.wait_until(lambda: len(self.entries) == len([*self.root.glob("*")]))
        return self

    @property
    def rows(self) -> SessionList:
        return self.window.sessions.list

    @property
    def entries(self) -> list[str]:
        return [entry.folder.name for entry in self.rows.session_model.entries]

    @property
    def message(self) -> str:
        return self.window.banner.text.text() if self.window.banner.isVisible() else ""

    @property
    def chosen(self) -> str:
        current = self.rows.current
        return current.folder.name if current else ""

    def clipped(self) -> list[str]:
        """Return the texts that are cut off, except those of cards outside the scrolled area."""
        cards = tuple(repr(card.text()) for card in (self.window.grid.new_card, *self.window.grid.cards.values()))
        return [text for text in clipped(self.window) if not text.startswith(cards)]

    def wait_for_pictures(self) -> None:
        self.wait_until(lambda: not self.window.grid.missing())

    def press(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(QApplication.focusWidget() or self.window, key, modifier)

    def click(self, text: str) -> None:
        (button,) = [b for b in self.window.front.findChildren(QPushButton) if b.text() == text]
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def click_row(self, row: int, twice: bool = False) -> None:
        place = self.rows.visualRect(self.rows.session_model.index(row)).center()
        for click in (QTest.mouseClick, QTest.mouseDClick)[: 1 + twice]:
            click(self.rows.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.window.close()
        self.window.close_down()
        for session in self.opened:
            session.close()
        self.window.deleteLater()


def drop(page: Page, path: Path) -> bool:
    """Drop a file on the window; return whether the window accepts it."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    what = Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(50, 50), *what)
    QApplication.sendEvent(page.window, enter)
    if enter.isAccepted():
        QApplication.sendEvent(page.window, QDropEvent(QPointF(50, 50), *what))
    return enter.isAccepted()


def make_session(root: Path, name: str, task: str = "reacher", labels: int = 0, ago: float = 100.0) -> Path:
    """Make a session without syncing it to disk: two hundred synced ones would take seconds."""
    config = Config(task=task, teacher="human", labels=40)
    best = None if labels == 0 else labels / 8
    record = Summary(task, "human", labels, 1000 * labels, get_task(task).measure_title, best, time.time() - ago)
    (root / name / "preferences").mkdir(parents=True)
    (root / name / "preferences" / "log.jsonl").touch()
    (root / name / "config.json").write_text(json.dumps(config.to_dict()))
    (root / name / summary.NAME).write_text(json.dumps(asdict(record)))
    return root / name
