"""Answers changed later, and answers that repeat another: nothing chosen is lost, and each pair has one label."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import UserError
from core.preferences.records import ChoiceRevision, PreferenceSummary
from core.preferences.store import PreferenceStore
from core.types import Choice, Query
from tests.core.builders import query

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "preferences.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[PreferenceStore]:
    """With three answers: left, right and a tie."""
    made = PreferenceStore(path)
    for number, choice in enumerate((Choice.LEFT, Choice.RIGHT, Choice.TIE)):
        made.add(query(number), choice, "human")
    yield made
    made.close()


def again(store: PreferenceStore, key: int, swapped: bool = False) -> Query:
    """The pair of that answer, to be shown once more."""
    pair = store.answers(key)[0].preference.query
    left, right = (pair.right, pair.left) if swapped else (pair.left, pair.right)
    return replace(pair, left=left, right=right, repeats=key)


def test_a_change_is_kept_and_so_is_the_choice_before_it(store: PreferenceStore, path: Path) -> None:
    changed = store.change(2, Choice.TIE, "human")
    assert (changed.id, changed.choice) == (2, Choice.TIE)
    store.change(2, Choice.CANT_TELL, "oracle")
    with closing(PreferenceStore(path)) as read:
        (kept,) = read.answers(2)
        assert [p.choice for p in read.all()] == [Choice.LEFT, Choice.CANT_TELL, Choice.TIE]
    assert (kept.preference.choice, kept.preference.labeller) == (Choice.CANT_TELL, "oracle")
    assert [(c.choice, c.labeller, c.newest) for c in kept.changes] == [
        (Choice.RIGHT, "human", 3),
        (Choice.TIE, "human", 3),
    ]
    assert store.count() == 3


def test_a_change_back_is_a_change_too(store: PreferenceStore) -> None:
    store.change(1, Choice.TIE, "human")
    store.change(1, Choice.LEFT, "human")
    (kept,) = store.answers(1)
    assert kept.preference.choice == Choice.LEFT
    assert [c.choice for c in kept.changes] == [Choice.LEFT, Choice.TIE]


def test_what_was_taken_back_or_is_not_there_can_not_be_changed(store: PreferenceStore) -> None:
    store.undo()
    for key, words in ((3, "taken back"), (77, "no answer 77")):
        with pytest.raises(UserError, match=words):
            store.change(key, Choice.LEFT, "human")
    assert [row.changes for row in store.rows()] == [(), (), ()]


CHANGER = """
import sys
from pathlib import Path
from core.preferences import PreferenceStore
from core.records import Choice
store = PreferenceStore(Path(sys.argv[1]))
for number in range(1000):
    store.change(1, list(Choice)[number % 4], "human")
    print(number, flush=True)
"""


@pytest.mark.parametrize("changes", [1, 6])
def test_after_a_kill_every_change_is_there(store: PreferenceStore, path: Path, changes: int) -> None:
    store.change(1, Choice.CANT_TELL, "human")
    child = subprocess.Popen([sys.executable, "-c", CHANGER, path], stdout=subprocess.PIPE, cwd=ROOT, text=True)
    assert child.stdout is not None
    printed = [child.stdout.readline() for _ in range(changes)]
    os.kill(child.pid, signal.SIGKILL)
    printed += child.stdout.readlines()
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    told = len([line for line in printed if line.endswith("\n")])
    (kept,) = store.answers(1)
    had = [c.choice for c in kept.changes] + [kept.preference.choice]
    assert had[:2] == [Choice.LEFT, Choice.CANT_TELL]
    assert len(had) - 2 in (told, told + 1)  # one may be on disk that it could not tell of any more
    assert had[2:] == [list(Choice)[number % 4] for number in range(len(had) - 2)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE changes SET choice = 'tie'",
        "DELETE FROM changes",
        "INSERT INTO changes SELECT id + 7, preference, choice, labeller, changed_at, newest FROM changes",
        "UPDATE preferences SET choice = 'right' WHERE id = 1",
    ],
)
def test_a_change_that_was_tampered_with_is_noticed(store: PreferenceStore, path: Path, statement: str) -> None:
    store.change(1, Choice.CANT_TELL, "human")
    with closing(sqlite3.connect(path)) as vandal:
        vandal.execute(statement)
        vandal.commit()
    with pytest.raises(UserError, match="does not match its checksum"):
        store.all()


def downgraded(path: Path) -> None:
    """As the second version of the tables had it."""
    with closing(sqlite3.connect(path)) as older:
        older.executescript(
            "DROP TABLE changes; ALTER TABLE preferences DROP COLUMN repeats; DELETE FROM seals WHERE preference = 0;"
            "PRAGMA user_version=2; VACUUM;"
        )


def test_a_store_of_the_second_version_is_read_and_gone_on_with(store: PreferenceStore, path: Path) -> None:
    downgraded(path)
    with closing(PreferenceStore(path, read_only=True)) as read:  # as what is whole is saved from a damaged one
        assert [k.preference.choice for k in read.salvage()[0]] == [Choice.LEFT, Choice.RIGHT, Choice.TIE]
        assert [(row.choice, row.repeats, row.changes) for row in read.rows()] == [
            (Choice.LEFT, None, ()),
            (Choice.RIGHT, None, ()),
            (Choice.TIE, None, ()),
        ]
    with closing(PreferenceStore(path)) as read:
        assert [p.choice for p in read.all()] == [Choice.LEFT, Choice.RIGHT, Choice.TIE]
        read.change(1, Choice.TIE, "human")
        read.add(again(read, 2), Choice.RIGHT, "human")
        assert [row.repeats for row in read.rows()] == [None, None, None, 2]


def test_who_read_before_the_store_was_brought_up_to_date_reads_what_is_new(store: PreferenceStore, path: Path) -> None:
    downgraded(path)
    with closing(PreferenceStore(path, read_only=True)) as early, closing(PreferenceStore(path)) as later:
        later.change(1, Choice.TIE, "human")
        later.add(again(later, 2), Choice.RIGHT, "human")
        assert [p.id for p in early.all()] == [1, 2, 3]
        assert early.answers(4)[0].preference.query.repeats == early.rows(4)[0].repeats == 2
        assert [c.choice for c in early.rows(1)[0].changes] == [Choice.LEFT]


def test_a_repeat_is_no_label_and_shares_the_segments(store: PreferenceStore, path: Path) -> None:
    kept = store.add(again(store, 2, swapped=True), Choice.LEFT, "human")
    assert kept.id == 4 and store.count() == 3
    assert [p.id for p in store.all()] == [1, 2, 3]
    (first,), (repeat,) = store.rows(2), store.rows(4)
    assert repeat.repeats == 2 and repeat.sides == first.sides[::-1]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT COUNT(*) FROM segments").fetchone() == (6,)


def test_a_repeat_is_taken_back_as_the_last_answer_and_the_label_stands(store: PreferenceStore) -> None:
    store.add(again(store, 1), Choice.LEFT, "human")
    taken = store.undo()
    assert taken and (taken.id, taken.query.repeats) == (4, 1)
    assert [p.id for p in store.all()] == [1, 2, 3]


def test_a_repeat_is_of_its_own_pair_and_is_not_changed(store: PreferenceStore) -> None:
    with pytest.raises(UserError, match="not that of answer 1"):
        store.add(replace(again(store, 2), repeats=1), Choice.LEFT, "human")
    store.add(again(store, 2), Choice.LEFT, "human")
    with pytest.raises(UserError, match="only repeats number 2"):
        store.change(4, Choice.RIGHT, "human")
    assert [row.id for row in store.rows()] == [1, 2, 3, 4]


def test_rows_are_read_without_segments(store: PreferenceStore) -> None:
    store.change(2, Choice.TIE, "human")
    store.undo()
    asked: list[str] = []
    store._db.set_trace_callback(asked.append)
    rows = store.rows()
    assert [(r.id, r.choice, r.labeller, r.withdrawn) for r in rows] == [
        (1, Choice.LEFT, "human", False),
        (2, Choice.TIE, "human", False),
        (3, Choice.TIE, "human", True),
    ]
    assert [c.choice for c in rows[1].changes] == [Choice.RIGHT]
    for table, times in (("preferences", 1), ("changes", 1), ("segments", 0)):
        assert sum(f"FROM {table}" in statement for statement in asked) == times


def test_labels_are_read_one_at_a_time(store: PreferenceStore) -> None:
    store.add(again(store, 1), Choice.LEFT, "human")  # no label
    store.add(query(9), Choice.LEFT, "human")
    store.undo()
    asked: list[str] = []
    store._db.set_trace_callback(asked.append)
    reading = store.each()
    assert next(reading).id == 1
    assert sum("arrays FROM segments" in statement for statement in asked) == 4  # both sides, and for the checksum
    assert [p.id for p in reading] == [2, 3]


def test_a_row_that_can_not_be_read_says_so_in_its_place(store: PreferenceStore, path: Path) -> None:
    with closing(sqlite3.connect(path)) as vandal:
        vandal.execute("UPDATE preferences SET choice = 'perhaps' WHERE id = 2")
        vandal.commit()
    rows = store.rows()
    assert [(r.id, r.choice) for r in rows] == [(1, Choice.LEFT), (2, None), (3, Choice.TIE)]
    assert rows[1].trouble == (
        "Answer 2 can't be read ('perhaps' is not a valid Choice):"
        " python -m core preferences export saves those that are whole."
    )


def test_the_choice_of_back_then(store: PreferenceStore) -> None:
    changes = (ChoiceRevision(Choice.LEFT, "human", 9.0, 20), ChoiceRevision(Choice.RIGHT, "human", 1.0, 40))
    row = PreferenceSummary(5, Choice.TIE, "human", 0.0, changes=changes)
    assert [row.choice_at(n) for n in (6, 20, 21, 40, 41)] == [
        *(Choice.LEFT, Choice.LEFT),
        *(Choice.RIGHT, Choice.RIGHT),
        Choice.TIE,
    ]


def test_nothing_is_written_through_a_store_that_is_only_read(store: PreferenceStore, path: Path) -> None:
    with closing(PreferenceStore(path, read_only=True)) as read:
        assert [row.id for row in read.rows()] == [1, 2, 3]
        with pytest.raises(UserError):
            read.change(1, Choice.TIE, "human")
    assert [p.choice for p in store.all()] == [Choice.LEFT, Choice.RIGHT, Choice.TIE]
