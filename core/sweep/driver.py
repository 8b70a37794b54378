"""The driver of a sweep: submits cells, tracks their states, and stores their documents."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Sequence

from core.sweep.backend import Backend, Ended, Lost, Progressed, Report, Started
from core.sweep.cell import Cell, CellState, Document, failed
from core.sweep.cell_files import CellFiles
from core.sweep.environment import versions
from core.sweep.progress_bar import ProgressBar

_ATTEMPTS = 3
"""Largest number of attempts at a cell whose process or machine is lost."""
_POLL_SECONDS = 1.0


class Sweep:
    """The cells of a plan, each computed at most once.

    states: state of each cell, by digest
    """

    def __init__(self, cells: Sequence[Cell], files: CellFiles) -> None:
        """Read the documents of cells that are done; those that failed are queued again.

        Raises UserError if a document is damaged.
        """
        self._files = files
        versions()  # cached now, as the files of the program may change later
        self._cells = {cell.digest: cell for cell in cells}
        self._documents: dict[str, Document] = {}
        for digest, cell in self._cells.items():
            document = files.read(cell)
            if document is not None and document["state"] == CellState.DONE:
                self._documents[digest] = document
                files.remove_sessions(cell)  # in case the run that finished it was killed before
        self.states = {
            digest: CellState.DONE if digest in self._documents else CellState.QUEUED for digest in self._cells
        }

    @property
    def cells(self) -> list[Cell]:
        """The distinct cells, in the order of the plan."""
        return list(self._cells.values())

    @property
    def counts(self) -> Counter[CellState]:
        return Counter(self.states.values())

    def document(self, cell: Cell) -> Document | None:
        """Return the document of a cell; None if it has not ended."""
        return self._documents.get(cell.digest)

    def made_otherwise(self) -> int:
        """Return the number of documents made with other sources or libraries than those of this process."""
        return sum(document.get("made_with") != versions() for document in self._documents.values())

    def run(self, backend: Backend, bar: ProgressBar) -> None:
        """Compute the cells that are queued. Raises UserError if a document can't be written."""
        queue = deque(digest for digest, state in self.states.items() if state == CellState.QUEUED)
        attempts: Counter[str] = Counter()
        submitted: set[str] = set()
        while queue or submitted:
            while queue and len(submitted) < backend.slots:
                digest = queue.popleft()
                attempts[digest] += 1
                submitted.add(digest)
                backend.submit(self._cells[digest])
            for report in backend.reports(_POLL_SECONDS):
                if not isinstance(report, Started | Progressed):
                    submitted.discard(report.digest)
                if isinstance(report, Lost) and attempts[report.digest] < _ATTEMPTS:
                    queue.append(report.digest)
                    self._change(report.digest, CellState.QUEUED, bar, report.reason)
                else:
                    self._take(report, bar)

    def _take(self, report: Report, bar: ProgressBar) -> None:
        cell = self._cells[report.digest]
        match report:
            case Started(digest):
                self._change(digest, CellState.RUNNING, bar)
            case Progressed(_, env_steps):
                bar.progressed(cell, env_steps)
            case Ended(_, content):
                self._end(cell, json.loads(content), bar)
            case Lost(_, reason):
                self._end(cell, failed(cell.config, reason), bar)

    def _end(self, cell: Cell, document: Document, bar: ProgressBar) -> None:
        done = document["state"] == CellState.DONE
        if done and document["made_with"] != versions():
            document = failed(cell.config, "The program's files changed while the sweep ran: start it again.")
        self._files.write(cell, document)
        self._documents[cell.digest] = document
        if done:
            self._files.remove_sessions(cell)  # about ten megabytes each
        self._change(cell.digest, CellState(document["state"]), bar, document.get("reason", ""))

    def _change(self, digest: str, state: CellState, bar: ProgressBar, reason: str = "") -> None:
        self.states[digest] = state
        self._files.note(self._cells[digest], state)
        bar.changed(self._cells[digest], state, self.counts, reason)
