"""The person's own behaviours, a folder of JSON files: list, save, copy, import, export and delete them, in a thread."""

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.workers import trash
from app.workers.background_thread import BackgroundThread
from app.workers.robot_reader import read_robot
from app.workers.trash import Trashed
from core.behaviours.behaviour import MAX_NAME, MAX_TITLE, SUFFIX, Behaviour
from core.behaviours.robot_model import MJCF_PREFIX, RobotModel
from core.errors import UserError
from core.formatting import first_free
from core.io import files
from core.tasks.behaviour_tasks import checked_file

log = logging.getLogger(__name__)
ReadRobot = Callable[[Path], RobotModel]


@dataclass(frozen=True)
class OwnBehaviour:
    """A behaviour and its file. text: the behaviour as in a session's Config.task"""

    path: Path
    behaviour: Behaviour

    @cached_property
    def text(self) -> str:
        return self.behaviour.to_text()


class BehaviourLibrary(QObject):
    """One folder of behaviours. Requests are carried out in order; each ends with a signal or a call of its `done` or `refused`.

    Signals:
        listed(object): all behaviours, a list of OwnBehaviour, the most recently changed first.
        changed(str): a request succeeded; one sentence.
        moved_to_trash(object): a behaviour is in the trash; its Trashed.
        refused(str): a request failed and nothing was changed; one sentence.
        problem_found(str): a file in the folder, or one with a robot, can't be read; one sentence.
    """

    listed = Signal(object)
    changed = Signal(str)
    moved_to_trash = Signal(object)
    refused = Signal(str)
    problem_found = Signal(str)

    def __init__(self, folder: Path, read: ReadRobot | None = None) -> None:
        """read: reads an MJCF file, blocking; by default in a child process."""
        super().__init__()
        self.folder = folder
        self._closed = threading.Event()
        self._read = read or partial(read_robot, stopped=self._closed.is_set)
        self._told: set[str] = set()
        self._thread, self._reader = BackgroundThread(self), BackgroundThread(self)

    def refresh(self) -> None:
        self._thread.do(self._list, self._on_listed, self.problem_found.emit)

    def save(
        self,
        behaviour: Behaviour,
        path: Path | None,
        done: Callable[[OwnBehaviour], object],
        refused: Callable[[str], object],
    ) -> None:
        """Replace the file at `path`, or write a new one unless the behaviour has one. refused: gets one sentence on failure"""
        self._thread.do(lambda: self._write(behaviour, path), partial(self._on_saved, done), refused)

    def duplicate(self, own: OwnBehaviour) -> None:
        self._do(lambda: self._duplicate(own), self._on_changed)

    def move_to_trash(self, own: OwnBehaviour) -> None:
        """Move the file to the trash. Sessions of this behaviour stay as they are."""
        self._do(lambda: trash.move_to_trash(own.path, own.behaviour.title), self._on_moved_to_trash)

    def restore(self, trashed: Trashed) -> None:
        """Undo `move_to_trash`."""
        self._do(lambda: _restore(trashed), self._on_changed)

    def export(self, behaviour: Behaviour, target: Path) -> None:
        self._do(lambda: self._export(behaviour, target), self._on_changed)

    def import_file(self, source: Path) -> None:
        """Keep a copy of a behaviour file, with its robot if that is an MJCF file."""
        self._do(lambda: self._import(source), self._on_changed)

    def read_robot(self, source: Path, done: Callable[[str, RobotModel], object]) -> None:
        """Read an MJCF file, which may take a minute; other requests do not wait for it. done: gets name and model"""
        self._reader.do(
            lambda: self._read(source), partial(done, f"{MJCF_PREFIX}{source.name}"), self.problem_found.emit
        )

    def close(self) -> None:
        """End the threads; block until all requests are done. Reading a robot is cancelled."""
        self._closed.set()
        for thread in (self._thread, self._reader):
            thread.close()

    def _do(self, task: Callable[[], Any], done: Callable[[Any], object]) -> None:
        self._thread.do(task, done, self.refused.emit)

    def _list(self) -> tuple[list[OwnBehaviour], list[str]]:
        """Return the behaviours, and a sentence for each file that is not a behaviour."""
        try:
            paths = [path for path in self.folder.iterdir() if path.suffix == SUFFIX and not path.name.startswith(".")]
        except FileNotFoundError:  # the first behaviour makes the folder
            return [], []
        except OSError as error:
            raise UserError(f"{self.folder} can't be read ({files.reason(error)}).") from error
        found, problems = [], []
        for path in sorted(paths, key=_changed_at, reverse=True):
            try:
                found.append(OwnBehaviour(path, checked_file(path)))
            except UserError as error:
                problems.append(str(error))
        return found, problems

    def _write(self, behaviour: Behaviour, path: Path | None = None) -> OwnBehaviour:
        target = path or self._free_path(behaviour.name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise files.unwritable(target, error) from error
        if path is None and (known := self._known(behaviour)):
            return known
        files.write_atomically(target, _readable(behaviour))
        return OwnBehaviour(target, behaviour)

    def _known(self, behaviour: Behaviour) -> OwnBehaviour | None:
        return next((own for own in self._list()[0] if own.behaviour == behaviour), None)

    def _free_path(self, name: str) -> Path:
        def numbered(number: int) -> str:
            return f"{name}-{number}{SUFFIX}" if number > 1 else f"{name}{SUFFIX}"

        return self.folder / first_free(numbered, lambda found: (self.folder / found).exists())

    def _duplicate(self, own: OwnBehaviour) -> str:
        titles = {other.behaviour.title for other in self._list()[0]}

        def copy(number: int) -> str:
            end = f" (copy {number})" if number > 1 else " (copy)"
            return own.behaviour.title[: MAX_TITLE - len(end)] + end

        title = first_free(copy, titles.__contains__)
        name = f"{own.behaviour.name[: MAX_NAME - 5].rstrip('-_')}-copy"
        self._write(replace(own.behaviour, title=title, name=name))
        return f"Duplicated {own.behaviour.title}."

    def _export(self, behaviour: Behaviour, target: Path) -> str:
        files.write_atomically(target, _readable(behaviour))
        return f"Saved {target.name}."

    def _import(self, source: Path) -> str:
        behaviour = checked_file(source, self._read)
        if self._known(behaviour):
            return f"{behaviour.title} is already among your behaviours."
        self._write(behaviour)
        return f"Imported {behaviour.title}."

    def _on_listed(self, found: tuple[list[OwnBehaviour], list[str]]) -> None:
        behaviours, problems = found
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                log.warning("%s", problem)
                self.problem_found.emit(problem)
        self.listed.emit(behaviours)

    def _on_saved(self, done: Callable[[OwnBehaviour], object], own: OwnBehaviour) -> None:
        done(own)
        self.refresh()

    def _on_changed(self, sentence: str) -> None:
        self.changed.emit(sentence)
        self.refresh()

    def _on_moved_to_trash(self, trashed: Trashed) -> None:
        self.moved_to_trash.emit(trashed)
        self.refresh()


def _restore(trashed: Trashed) -> str:
    trash.restore(trashed)
    return f"Restored {trashed.name}."


def _readable(behaviour: Behaviour) -> bytes:
    """Return the file's content, with one top-level field per line."""
    fields = json.loads(behaviour.to_text())
    lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _changed_at(path: Path) -> float:
    """Return the time of the file's last change; 0 if it is unknown: reading the file then reports the error."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
