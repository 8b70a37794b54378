"""Answers of a headless run, from the oracle or the simulated person, or from the store after a resume.

The jobs are deterministic and an answer is a function of its query. So a run that resumes from a checkpoint asks the
pairs that were answered after the checkpoint again. Their answers are taken from the store: none is lost or duplicated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from core.config import Config
from core.io.segment_codec import fingerprint
from core.preferences import oracle, person
from core.preferences.store import PreferenceStore
from core.types import Preference, Query, Teacher


class Answers:
    """Answers of a headless session.

    newest: number of the newest answer that the jobs have received; count: number of labels that they have received
    """

    def __init__(self, store: PreferenceStore, config: Config, newest: int | None) -> None:
        """newest: value in the checkpoint that the run resumes from, 0 without a checkpoint; None if it is unknown, and
        then all stored answers count as known to the jobs
        """
        self._store, self._config = store, config
        labels = [row.id for row in store.labels()]
        self.newest = max(labels, default=0) if newest is None else newest
        self._known_to_jobs = [key for key in labels if key <= self.newest]
        self._later = deque(key for key in labels if key > self.newest)
        self.count = len(self._known_to_jobs)
        for key in self._later:
            store.answer(key)  # a damaged one raises its error now, not in the middle of the run

    def known_to_jobs(self) -> Iterator[Preference]:
        """Iterate over the answers that the jobs had when the checkpoint was taken, for jobs that start from it."""
        return map(self._store.answer, self._known_to_jobs)

    def answer(self, query: Query) -> Preference | None:
        """Answer a query. Returns None if the next stored answer is about another pair, as after a change of device.

        Raises UserError if the answer can't be stored.
        """
        if not self._later:
            teacher = self._config.teacher
            given = (person if teacher == Teacher.PERSON else oracle).answer(query, self._config)
            return self._counted(self._store.add(query, given.choice, teacher, given.returns))
        stored = self._store.answer(self._later[0])
        if not _same(stored.query, query):
            return None
        self._later.popleft()
        return self._counted(replace(stored, query=query))

    def rest(self) -> Iterator[Preference]:
        """Yield all remaining stored answers, whatever pairs they are about."""
        while self._later:
            yield self._counted(self._store.answer(self._later.popleft()))

    def _counted(self, preference: Preference) -> Preference:
        self.newest, self.count = preference.id, self.count + 1
        return preference


def _same(stored: Query, asked: Query) -> bool:
    """Return whether the queries have the same number and the same segments on the same sides."""
    sides = (stored.left, asked.left), (stored.right, asked.right)
    return stored.id == asked.id and all(fingerprint(one) == fingerprint(other) for one, other in sides)
