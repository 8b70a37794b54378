"""A fake engine, whose processes play the events of a test and record what they receive, and a window over it."""

from __future__ import annotations

import errno
import itertools
import math
import os
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.session.controller import Controller, State
from app.windows.main import MainWindow
from core.errors import ChildDiedError, UserError
from core.events import (
    AnswersReplayed,
    Event,
    JobSpec,
    JobState,
    QueryOffered,
    RolloutReported,
    StateRequested,
    StateSaved,
)
from core.service_events import ClipsRendered, ClipsRequested
from core.session.session import Session
from core.types import Choice, Frames, Preference, Query, Segment

_ids = itertools.count(1)

ERRORS = [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), RuntimeError("CUDA out of memory."), MemoryError()]
FULL = UserError("The checkpoint can't be written: make room.")

KEYS = {
    Qt.Key.Key_Left: Choice.LEFT,
    Qt.Key.Key_Right: Choice.RIGHT,
    Qt.Key.Key_Up: Choice.TIE,
    Qt.Key.Key_Down: Choice.CANT_TELL,
}
DRIVEN: dict[str, Any] = {
    "query__schedule": "answers",
    "query__first_labels": 2,
    "rollout__steps_per_answer": 1000,
    "rollout__finish_steps": 10_000,
    "steps": 10**12,
    "labels": 10_000,
}
"""Settings of a session whose answers drive the training."""
STEPS = 40
"""Of a segment of the default task, whose sizes the others have too."""


def make_segment(reward: float = 0.0) -> Segment:
    number = next(_ids)
    return Segment(
        number,
        np.full((STEPS, 16), number, np.float32),
        np.zeros((STEPS, 3), np.float32),
        np.zeros((STEPS, 4)),
        np.repeat(np.float32([reward, 0]), [6, STEPS - 6]),
        1000,
    )


def make_query(left_reward: float = 1.0, right_reward: float = 0.0) -> Query:
    return Query(next(_ids), make_segment(left_reward), make_segment(right_reward), 0.1)


def make_frames(size: int = 24, count: int = 8) -> Frames:
    pixels = np.zeros((count, size, size, 3), np.uint8)
    for i in range(count):
        pixels[i, :, : (i + 1) * size // count] = (40, 120, 200)
    return Frames(pixels, 30.0)


@dataclass
class FakeMessage:
    """Message of a fake process that carries an event, in place of core.system.shared_memory.Envelope."""

    event: Event
    error: Exception | None = None
    """Raised where the event is decoded."""

    @property
    def kind(self) -> type[Event]:
        return type(self.event)

    def decode(self) -> Event:
        if self.error:
            raise self.error
        return self.event

    def close(self) -> None: ...


class FakeProcess:
    """Stand-in for core.system.child_process.JobProcess."""

    def __init__(self, spec: JobSpec) -> None:
        self.spec = spec
        self.started = self.stopped = False
        self.unreadable: Event | None = None
        """An event that the window fails to decode."""
        self.sent: list[Event] = []
        self.values: dict[str, Any] = {}
        """More values of its states."""
        self._tape: queue.Queue[Event | int] = queue.Queue()

    def start(self) -> None:
        self.started = True

    def play(self, event: Event) -> None:
        self._tape.put(event)

    def die(self, exit_code: int = -9) -> None:
        self._tape.put(exit_code)

    def send(self, message: Event | FakeMessage) -> None:
        event = message.event if isinstance(message, FakeMessage) else message  # not decoded
        if self.stopped:
            raise ChildDiedError(self.spec.name, 0)
        self.sent.append(event)
        if isinstance(event, StateRequested):
            self.play(
                StateSaved(
                    self.spec.name, event.number, JobState({"x": np.ones(3)}, {"n": event.number, **self.values})
                )
            )
        if isinstance(event, ClipsRequested):
            clips = tuple(make_frames() for _ in event.segments)
            self.play(ClipsRendered(event.token, clips))

    def receive(self, timeout: float) -> FakeMessage | None:
        try:
            got = self._tape.get(timeout=min(timeout, 0.01))
        except queue.Empty:
            return None
        if isinstance(got, int):
            raise ChildDiedError(self.spec.name, got)
        return FakeMessage(got, RuntimeError("as injected") if got is self.unreadable else None)

    def stop(self) -> None:
        self.stopped = True

    def kill(self) -> None:
        self.die()

    def got(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.sent if isinstance(event, kind)]


class Engine:
    """Factory of fake processes that remembers the newest of each name."""

    def __init__(self) -> None:
        self.made: list[FakeProcess] = []

    def __call__(self, spec: JobSpec) -> FakeProcess:
        self.made.append(FakeProcess(spec))
        return self.made[-1]

    def __getitem__(self, name: str) -> FakeProcess:
        return [process for process in self.made if process.spec.name == name][-1]

    def offer(self, *queries: Query) -> None:
        for query in queries:
            self["rollout"].play(QueryOffered(query))


Picture = Callable[[QWidget, str], None]
"""Keeps a picture of a page, as the fixture `picture` does."""


def take_file(window: QWidget, path: Path) -> None:
    """Choose this file in the file dialog of the window."""
    dialog = window.findChild(QFileDialog)
    dialog.fileSelected.emit(str(path))
    dialog.close()


def endless(session: Session, target: Path, check_cancelled: Callable[[], None]) -> None:
    """Stand-in for core.session.archive.export_session that runs until it is cancelled."""
    while True:
        check_cancelled()
        time.sleep(0.01)


class Face:
    """A shown window with its controller, its engine and the folder of its session."""

    def __init__(self, qtbot: QtBot, folder: Path, session: Session) -> None:
        self.qtbot, self.folder, self.engine = qtbot, folder, Engine()
        self.controller = Controller(session, self.engine)
        self.labelling = self.controller.labelling
        self.window = MainWindow(self.controller)
        self.wait_until, self.wait_signal = qtbot.waitUntil, qtbot.waitSignal

    def activate(self, window: QWidget | None = None) -> None:
        """Give the keyboard focus to the window, or to another one."""
        window = window or self.window
        window.activateWindow()
        self.wait_until(window.isActiveWindow)

    def open(self) -> None:
        self.window.show()
        self.activate()
        self.controller.start()
        self.wait_until(lambda: self.controller.state == State.RUNNING)
        self.wait_until(lambda: bool(self.engine["reward"].got(AnswersReplayed)))  # the store is created and open
        QCoreApplication.sendPostedEvents()  # delivers the number of answers, which the writer's thread sent before

    def save(self, action: str, path: Path) -> None:
        """Choose this entry of the menu, and this file in its dialog."""
        self.window.findChild(QAction, action).trigger()
        take_file(self.window, path)

    def press(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.window, key, modifier)

    def offer(self, *queries: Query) -> tuple[Query, ...]:
        """Offer queries, wait until the first of them is on screen, and return them."""
        self.engine.offer(*queries)
        self.wait_until(lambda: self.labelling.pairs.shown is not None)
        return queries

    def answered(self, key: Qt.Key = Qt.Key.Key_Left) -> tuple[Query, Query]:
        """Offer two pairs, answer the first with this key, and wait until it is stored and the second is on screen."""
        first, second = self.offer(make_query(), make_query())
        self.press(key)
        self.wait_until(lambda: self.query is second)
        assert len(self.answers()) == 1
        return first, second

    def answer_another(self) -> None:
        """Answer one more pair, and wait until the answer is stored."""
        before = len(self.answers())
        self.offer(make_query())
        self.press(Qt.Key.Key_Left)
        self.wait_until(lambda: len(self.answers()) == before + 1)

    def learn(self) -> None:
        """Play the report of a batch that was collected."""
        steps = self.controller.progress.env_steps + 1000
        self.engine["rollout"].play(RolloutReported(steps, 1000, math.nan, math.nan, {}, math.nan, 0))
        self.wait_until(lambda: self.controller.progress.env_steps == steps)

    def stop(self) -> None:
        """Stop the session by its menu, and wait until it has stopped."""
        with self.wait_signal(self.controller.stopped):
            self.window.stop_action.trigger()

    def die(self, name: str) -> None:
        """Let the process of this job die, and wait until the window reports it."""
        self.engine[name].die()
        self.wait_until(lambda: self.window.banner.shows_failure)

    def restart(self) -> None:
        """Press the banner's button, and wait until all jobs run again."""
        press_restart(self)
        self.wait_until(lambda: self.controller.state == State.RUNNING)

    @property
    def query(self) -> Query | None:
        """The query that the window shows."""
        shown = self.window.clips.shown
        return shown.query if shown and self.window.pair_page.currentWidget() is self.window.clips else None

    def answers(self) -> list[Preference]:
        self.wait_until(lambda: self.labelling.idle)  # all answers have reached the disk
        store = self.controller.session.store()
        try:
            return list(store.each())
        finally:
            store.close()

    def close(self) -> None:
        if self.window.isVisible():
            with self.wait_signal(self.window.closed):
                self.window.close()


def press_restart(face: Face) -> None:
    QTest.mouseClick(face.window.banner.restart, Qt.MouseButton.LeftButton)


def numbers(face: Face) -> dict[str, int]:
    """Return the number of the request that the state of each job in the newest checkpoint answered."""
    loaded = face.controller.session.load()
    return {name: state.values["n"] for name, state in loaded[1].items()}


class FullSystem:
    """Factory of a limited number of the engine's processes, which then fails as with too many open files."""

    def __init__(self, face: Face, left: int) -> None:
        self._make, self._left = face.engine, left

    def __call__(self, spec: JobSpec) -> FakeProcess:
        self._left -= 1
        if self._left < 0:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self._make(spec)
