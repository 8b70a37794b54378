"""The durable store of answers: nothing that was answered is ever lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from core.preferences import integrity
from core.preferences.store import PreferenceStore
from core.types import Choice, PoolReturns, Segment
from tests.core.builders import query, segment

ROOT = Path(__file__).resolve().parents[2]
Open = Callable[..., PreferenceStore]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    made: list[PreferenceStore] = []

    def make(path: Path = tmp_path / "preferences.sqlite") -> PreferenceStore:
        made.append(PreferenceStore(path))
        return made[-1]

    yield make
    for store in made:
        store.close()


def same_segment(one: Segment, other: Segment) -> bool:
    arrays = [(getattr(s, name) for s in (one, other)) for name in ("observations", "actions", "states")]
    equal = all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in arrays)
    rewards = [None if s.true_rewards is None else s.true_rewards.tolist() for s in (one, other)]
    return equal and rewards[0] == rewards[1] and one.env_steps == other.env_steps


def test_answers_come_back_as_they_were_given(opened: Open) -> None:
    with_rewards = query(7, segment(1, 3, [0.1, -2.5, 1e-7]), segment(2, 3), disagreement=0.125)
    asked = [with_rewards, *(query(i) for i in range(8, 11))]
    first = opened()
    given = [first.add(q, c, "human") for q, c in zip(asked, Choice, strict=True)]
    first.close()
    read = opened().all()
    assert [(p.id, p.choice, p.labeller, p.answered_at, p.query.id) for p in read] == [
        (p.id, p.choice, p.labeller, p.answered_at, p.query.id) for p in given
    ]
    assert [p.choice for p in read] == list(Choice)
    for p, q in zip(read, asked, strict=True):
        assert same_segment(p.query.left, q.left) and same_segment(p.query.right, q.right)
    assert read[0].query.disagreement == 0.125


def test_an_unknown_disagreement_stays_unknown(opened: Open) -> None:
    opened().add(query(1, disagreement=float("nan")), Choice.LEFT, "oracle")
    assert np.isnan(opened().all()[0].query.disagreement)


def test_what_the_oracle_told_and_judged_by_is_kept(opened: Open) -> None:
    store = opened()
    store.add(replace(query(1), pool_returns=PoolReturns(-0.1, 3.7)), Choice.LEFT, "oracle", (1.25, -1e-9))
    store.add(query(2), Choice.RIGHT, "oracle")
    told, plain = opened().all()
    assert (told.returns, told.query.pool_returns) == ((1.25, -1e-9), PoolReturns(-0.1, 3.7))
    assert (plain.returns, plain.query.pool_returns) == (None, None)


_VERSION_1 = """
CREATE TABLE segments (id INTEGER PRIMARY KEY, env_steps INTEGER NOT NULL, arrays BLOB NOT NULL);
CREATE TABLE preferences (id INTEGER PRIMARY KEY, left_segment INTEGER NOT NULL, right_segment INTEGER NOT NULL,
    query INTEGER NOT NULL, disagreement REAL, choice TEXT NOT NULL, labeller TEXT NOT NULL, answered_at REAL NOT NULL,
    withdrawn INTEGER NOT NULL DEFAULT 0);
INSERT INTO segments SELECT id, env_steps, arrays FROM newer.segments;
INSERT INTO preferences SELECT id, left_segment, right_segment, query, disagreement, choice, labeller, answered_at,
    withdrawn FROM newer.preferences;
PRAGMA user_version=1;
"""


def test_a_store_of_the_first_version_is_read_and_gone_on_with(opened: Open, tmp_path: Path) -> None:
    store = opened(tmp_path / "newer.sqlite")
    given = [store.add(query(i), choice, "human") for i, choice in enumerate(Choice)]
    store.undo()
    old = sqlite3.connect(tmp_path / "old.sqlite")
    old.execute("ATTACH ? AS newer", (str(tmp_path / "newer.sqlite"),))
    old.executescript(_VERSION_1)
    old.close()
    assert [p.choice for p in opened(tmp_path / "old.sqlite").all()] == [p.choice for p in given[:-1]]
    opened(tmp_path / "old.sqlite").add(query(9), Choice.TIE, "oracle", (1.0, 2.0))
    read = opened(tmp_path / "old.sqlite").all()
    assert [p.returns for p in read] == [None, None, None, (1.0, 2.0)]
    assert same_segment(read[1].query.left, given[1].query.left)


def test_cant_tell_is_kept(opened: Open) -> None:
    opened().add(query(1), Choice.CANT_TELL, "human")
    assert [p.choice for p in opened().all()] == [Choice.CANT_TELL]
    assert opened().count() == 1


def test_the_last_answers_are_taken_back_one_by_one(opened: Open) -> None:
    store = opened()
    given = [store.add(query(i), Choice.LEFT, "human") for i in range(3)]
    taken = [store.undo(), store.undo()]
    assert [p and p.id for p in taken] == [given[2].id, given[1].id]
    later = store.add(query(9), Choice.TIE, "human")
    assert [p.id for p in opened().all()] == [given[0].id, later.id]
    assert opened().count() == 2
    assert later.id > given[2].id  # a number is never used again


def test_with_nothing_left_to_take_back_there_is_none(opened: Open) -> None:
    store = opened()
    assert store.undo() is None
    store.add(query(1), Choice.LEFT, "human")
    store.undo()
    assert store.undo() is None
    assert store.count() == 0


def test_what_was_taken_back_is_given_again_in_the_order_it_was_given(opened: Open) -> None:
    store = opened()
    given = [store.add(query(i), Choice.LEFT, "human") for i in range(4)]
    for _ in range(3):
        store.undo()
    store.close()
    again = opened()
    assert [p and p.id for p in (again.redo(), again.redo())] == [given[1].id, given[2].id]
    assert again.undo() is not None  # number 2 once more
    assert [p and p.id for p in (again.redo(), again.redo())] == [given[2].id, given[3].id]
    assert again.redo() is None
    assert [(p.id, p.answered_at) for p in again.all()] == [(p.id, p.answered_at) for p in given]


def test_a_new_answer_ends_what_could_be_given_again(opened: Open) -> None:
    store = opened()
    first, second = (store.add(query(i), Choice.LEFT, "human") for i in range(2))
    store.undo()
    third = store.add(query(2), Choice.TIE, "human")
    assert store.redo() is None
    store.undo()
    store.undo()
    assert [p and p.id for p in (store.redo(), store.redo())] == [first.id, third.id]
    assert store.redo() is None
    assert [(kept.preference.id, kept.withdrawn) for kept in opened().history()] == [
        (first.id, False),
        (second.id, True),
        (third.id, False),
    ]


WRITER = """
import sys
from pathlib import Path
from core.preferences import PreferenceStore
from core.records import Choice
from tests.core.builders import query
store = PreferenceStore(Path(sys.argv[1]))
for number in range(1000):
    store.add(query(number), Choice.RIGHT, "human")
    print(number, flush=True)
"""


@pytest.mark.parametrize("answers", [1, 2, 7])
def test_after_a_kill_every_answer_is_there(opened: Open, tmp_path: Path, answers: int) -> None:
    path = tmp_path / "killed.sqlite"
    child = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, cwd=ROOT, text=True)
    assert child.stdout is not None
    printed = [child.stdout.readline() for _ in range(answers)]
    os.kill(child.pid, signal.SIGKILL)
    printed += child.stdout.readlines()
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    told = len([line for line in printed if line.endswith("\n")])
    kept = opened(path).all()
    assert told >= answers and [p.query.id for p in kept][:told] == list(range(told))
    assert len(kept) <= told + 1  # one may be on disk that it could not tell of any more
    assert all(same_segment(p.query.left, query(p.query.id).left) for p in kept)


def one_sentence(refused: pytest.ExceptionInfo[UserError], path: Path) -> str:
    text = str(refused.value)
    assert "\n" not in text and text.endswith(".") and str(path) in text
    return text


def test_a_new_store_keeps_a_write_ahead_log_from_its_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rollback journal is ever beside it, which others would take for a stranger's: not even after a kill."""
    path, connect, found = tmp_path / "preferences.sqlite", sqlite3.connect, []

    def connected(place: Any, **given: Any) -> sqlite3.Connection:
        if place == path:
            found.append(path.read_bytes()[18:20])
            integrity.require_no_journal(path)
        return connect(place, **given)

    monkeypatch.setattr(sqlite3, "connect", connected)
    journals = []
    with closing(PreferenceStore(path)) as store:
        journals += [each.name for each in tmp_path.iterdir() if each.name.endswith("-journal")]
        assert store.count() == 0
    assert found == [b"\2\2"] and journals == []


def test_each_answer_is_synced(opened: Open) -> None:
    """Without it a power cut would take the last ones, which no kill shows."""
    store = opened()
    store.add(query(1), Choice.LEFT, "human")
    pragmas = {name: store._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")}
    assert pragmas == {"journal_mode": "wal", "synchronous": 2}


def test_a_file_of_another_kind_is_refused_and_left_alone(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "preferences.sqlite"
    path.write_text("my shopping list\n" * 100)
    with pytest.raises(UserError) as refused:
        opened(path)
    one_sentence(refused, path)
    assert path.read_text() == "my shopping list\n" * 100


def test_a_folder_in_the_way_is_refused(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "preferences.sqlite"
    path.mkdir()
    with pytest.raises(UserError) as refused:
        opened(path)
    one_sentence(refused, path)


def test_the_store_of_a_newer_version_is_refused_and_left_alone(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "preferences.sqlite"
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version=1000")
    newer.close()
    with pytest.raises(UserError) as refused:
        opened(path)
    assert "newer" in one_sentence(refused, path)
    again = sqlite3.connect(path)
    assert again.execute("PRAGMA user_version").fetchone() == (1000,)
    assert again.execute("SELECT name FROM sqlite_master").fetchall() == []
    again.close()


def test_a_damaged_answer_is_told_of_in_one_sentence(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "preferences.sqlite"
    opened(path).add(query(1), Choice.LEFT, "human")
    vandal = sqlite3.connect(path)
    vandal.execute("UPDATE segments SET arrays = x'00'")
    vandal.commit()
    vandal.close()
    with pytest.raises(UserError) as refused:
        opened(path).all()
    one_sentence(refused, path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of half a megabyte, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if sys.platform != "linux" or subprocess.run(options, capture_output=True).returncode != 0:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_on_a_full_disk_the_answer_is_refused_and_the_earlier_ones_remain(small_disk: Path) -> None:
    path = small_disk / "preferences.sqlite"
    store, kept = PreferenceStore(path), 0
    with pytest.raises(UserError) as refused:
        for number in range(1000):
            store.add(query(number, segment(number, 100), segment(number, 100)), Choice.LEFT, "human")
            kept += 1
    assert "full" in one_sentence(refused, path)
    assert kept > 0 and store.count() == kept
    store.close()
    again = PreferenceStore(path)
    assert [p.query.id for p in again.all()] == list(range(kept))
    again.close()


def test_when_the_store_may_grow_no_more_the_answer_is_refused_and_the_earlier_ones_remain(opened: Open) -> None:
    """As on a full disk, for those who may not mount one."""
    store = opened()
    store.add(query(1), Choice.LEFT, "human")
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages + 1}")
    with pytest.raises(UserError, match="full"):
        for number in range(2, 100):
            store.add(query(number, segment(number, 100), segment(number, 100)), Choice.LEFT, "human")
    assert [p.query.id for p in opened().all()][:1] == [1]
    store._db.execute("PRAGMA max_page_count=100000")
    store.add(query(500), Choice.RIGHT, "human")  # with room again, it goes on
    assert opened().all()[-1].query.id == 500
