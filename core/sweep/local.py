"""Cells in processes of this machine, several at the same time."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

from core.config import Config
from core.errors import ChildDiedError, UserError
from core.events import Failed, Logged
from core.formatting import capitalized
from core.io.files import make_inside
from core.sweep.backend import Ended, Lost, Progressed, Report, Started
from core.sweep.cell import Cell, compute
from core.system import resources
from core.system.child_process import ChildProcess, log_from_child
from core.system.link import Link

_REPORT_SECONDS = 1.0
"""Shortest time in seconds between two progress messages of a cell."""


class LocalBackend:
    """Processes that compute one cell after another and end when this process ends.

    A cell that was stopped continues from its checkpoint. A process whose cell has failed is replaced by a new one.
    """

    def __init__(self, slots: int, folder_of: Callable[[Cell], Path]) -> None:
        """slots: number of cells at the same time; folder_of: returns the folder of a cell's session"""
        self._slots, self._folder_of = slots, folder_of
        self._threads = max(1, resources.available_cores() // slots)
        self._busy: dict[str, ChildProcess] = {}
        self._idle: list[ChildProcess] = []
        self._new: list[Report] = []

    def check(self) -> None:
        """Do nothing: all processes on this machine run the same files."""

    @property
    def slots(self) -> int:
        return self._slots

    def submit(self, cell: Cell) -> None:
        folder = self._folder_of(cell)
        make_inside(folder.parent)
        if self._idle:
            child = self._busy[cell.digest] = self._idle.pop()
        else:
            child = self._busy[cell.digest] = ChildProcess("cell", _run_cells, self._threads, torch=True)
            child.start()
        with contextlib.suppress(ChildDiedError):  # reported by `reports`
            child.send((cell.config.to_dict(), str(folder)))
        self._new.append(Started(cell.digest))

    def reports(self, seconds: float) -> list[Report]:
        reports, self._new = self._new, []
        deadline = time.monotonic() + seconds
        while not reports and self._busy and time.monotonic() < deadline:
            for digest in list(self._busy):
                reports += self._of_child(digest, seconds / (10 * len(self._busy)))
        return reports

    def _of_child(self, digest: str, seconds: float) -> list[Report]:
        child = self._busy[digest]
        try:
            envelope = child.receive(seconds)
            if envelope is None:
                return []
            with contextlib.closing(envelope):
                message = envelope.decode()
        except ChildDiedError as error:
            return [self._lost(digest, error)]
        if isinstance(message, Logged):
            log_from_child(message)
            return []
        if isinstance(message, Failed):  # not even a document could be made
            self._busy.pop(digest).close()
            return [Lost(digest, f"The process of the cell failed ({message.summary.rstrip('.')}).")]
        if isinstance(message, int):
            return [Progressed(digest, message)]
        if isinstance(message, ChildDiedError):  # a process of its session was killed
            return [self._lost(digest, message)]
        content, usable = message
        child = self._busy.pop(digest)
        if usable:
            self._idle.append(child)
        else:
            child.close()
        return [Ended(digest, content)]

    def _lost(self, digest: str, death: ChildDiedError) -> Lost:
        self._busy.pop(digest).close()
        killed = death.exit_code == -9
        memory = ", possibly because it ran out of memory: run fewer cells at once" if killed else ""
        return Lost(digest, f"{capitalized(str(death))}{memory}.")

    def close(self) -> None:
        for child in (*self._busy.values(), *self._idle):
            child.close()
        self._busy, self._idle = {}, []


def slots_for(wanted: int | None, least_memory: int) -> int:
    """Return the number of cells to compute at the same time: `wanted`, or else one per core if memory allows.

    least_memory: memory in bytes that one cell needs

    Raises UserError if there is too little memory for `wanted` cells, or for one.
    """
    if wanted is not None:
        resources.require_memory(wanted * least_memory)
        return wanted
    resources.require_memory(least_memory)
    free, cores = resources.free_memory(), resources.available_cores()
    return cores if free is None else max(1, min(cores, free // least_memory))


def parse_slots(text: str) -> int | None:
    """Return N of local:N, or None if the text is ''. Raises UserError if it is not a number from 1 to 1024."""
    if text == "":
        return None
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= 1024:
        raise UserError(f"local:{text[:20]} is not a number of cells: give local:N with N from 1 to 1024.")
    return int(text)


def _run_cells(link: Link, threads: int) -> None:
    """Receive configs with folders, compute their cells, and send the progress of each and then its document.

    The document is sent with a bool, whether another cell may follow in this process. If a process of the cell's session
    was killed, the ChildDiedError is sent instead.
    """
    sent_at = 0.0

    def report(env_steps: int) -> None:
        nonlocal sent_at
        if time.monotonic() > sent_at + _REPORT_SECONDS:
            sent_at = time.monotonic()
            link.send(env_steps)

    while True:
        config, folder = link.receive()
        try:
            content = compute(Config.from_dict(config), Path(folder), threads, report)
        except ChildDiedError as error:
            link.send(error)
            return
        resources.release_memory()
        link.send((content, json.loads(content)["state"] == "done"))
