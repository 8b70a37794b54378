"""Answers passed between the disk and the jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from app.workers.preference_writer import PreferenceWriter
from core.events import Event
from core.preferences.store import PreferenceStore
from core.types import Choice, Preference, Teacher
from tests.app.fakes import Face, make_query


def test_answers_are_replayed_one_by_one(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(face.controller.session.store()) as store:
        for _ in range(3):
            store.add(make_query(), Choice.LEFT, Teacher.HUMAN)
    read, sent = list[int](), list[int]()
    each = PreferenceStore.each

    def counting(store: PreferenceStore) -> Iterator[Preference]:
        for preference in each(store):
            read.append(preference.id)
            yield preference

    class Port:
        def send(self, event: Event) -> None:
            sent.append(len(read))
            if len(sent) == len(expected):
                writer.end()

    monkeypatch.setattr(PreferenceStore, "each", counting)
    for expected in ([1, 2, 3, 3], [1]):  # the second replay is closed after its first answer
        read.clear()
        sent.clear()
        writer = PreferenceWriter(face.controller.session.store, {"reward": Port()})
        writer.replay(("reward",), ())
        assert writer.wait(60_000)
        assert sent == expected
