"""A store of answers that another program made, that somebody prepared, or that a disk has spoiled."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.__main__ import main
from core.errors import UserError
from core.preferences import integrity, mark, schema
from core.preferences.salvage import rescued
from core.preferences.store import PreferenceStore, StoredPreference
from core.session.session import Session
from core.types import Choice
from tests.core.builders import preference, query, tiny


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with three answers, the last taken back; closed."""
    folder = tmp_path / "s"
    folder.mkdir()
    with closing(PreferenceStore(folder / "preferences.sqlite")) as store:
        for number in range(3):
            store.add(query(number), list(Choice)[number], "human")
        store.undo()
    return folder / "preferences.sqlite"


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as vandal:
        vandal.execute("PRAGMA writable_schema=ON")
        for statement in statements:
            vandal.execute(statement)
        vandal.commit()


def remade(old: str, new: str) -> str:
    """What says that the table of segments was made otherwise."""
    return f"UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}') WHERE name = 'segments'"


def refused(path: Path) -> str:
    """The sentence with which opening or reading it is refused."""
    with pytest.raises(UserError) as told, closing(PreferenceStore(path)) as store:
        store.all()
    text = str(told.value)
    assert "\n" not in text and text.endswith(".") and str(path) in text
    return text


def test_an_answer_that_another_process_adds_meanwhile_is_no_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PreferenceStore(path)) as owner:
        look = integrity._found

        def interrupted(db: sqlite3.Connection, wanted: str) -> object:
            found = look(db, wanted)
            monkeypatch.setattr(integrity, "_found", look)
            owner.add(query(7), Choice.LEFT, "human")
            return found

        monkeypatch.setattr(integrity, "_found", interrupted)
        with closing(PreferenceStore(path)) as second:
            assert len(second.all()) == 3  # two that stand, and the new one


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bookmarks.sqlite"
    change(path, "CREATE TABLE bookmarks (url TEXT)", "INSERT INTO bookmarks VALUES ('x')")
    before = path.read_bytes()
    assert "another program" in refused(path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["bookmarks.sqlite"]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON preferences BEGIN DELETE FROM preferences; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE other (x)",
        "CREATE INDEX i ON preferences (choice)",
        "ALTER TABLE preferences ADD COLUMN x AS (upper(choice))",
        "ALTER TABLE preferences ADD COLUMN x INTEGER CHECK (randomblob(1000) IS NOT NULL)",
        "DROP TABLE segments",
        "ALTER TABLE preferences RENAME COLUMN choice TO chosen",
        remade("id INTEGER PRIMARY KEY", "id INTEGER"),
        remade("id INTEGER PRIMARY KEY", "id INT PRIMARY KEY"),
        remade("id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY desc"),
        remade("id INTEGER PRIMARY KEY", "id INTEGER, other INTEGER PRIMARY KEY"),
        remade("arrays BLOB NOT NULL\n)", "arrays BLOB NOT NULL\n)/**/without/**/rowid"),
    ],
)
def test_a_store_with_anything_in_it_that_could_run_is_refused(path: Path, statement: str) -> None:
    change(path, statement)
    assert "another program" in refused(path)


def test_a_view_in_place_of_the_answers_is_never_evaluated(path: Path) -> None:
    change(
        path,
        "DROP TABLE preferences",
        "CREATE VIEW preferences AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
    )
    assert "another program" in refused(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE preferences SET choice = 'left' WHERE id = 2",
        "UPDATE preferences SET withdrawn = 1 WHERE id = 2",
        "UPDATE preferences SET withdrawn = 0 WHERE id = 3",
        "UPDATE preferences SET left_segment = 1 WHERE id = 2",
        "UPDATE preferences SET answered_at = 5 WHERE id = 1",
        "UPDATE segments SET env_steps = 7 WHERE id = 1",
        "UPDATE segments SET arrays = (SELECT arrays FROM segments WHERE id = 2) WHERE id = 1",
        "DELETE FROM seals WHERE preference = 2",
        "DELETE FROM segments",
    ],
)
def test_what_was_changed_behind_its_back_is_noticed(path: Path, statement: str) -> None:
    change(path, statement)
    assert "preferences export" in refused(path)


def test_a_flipped_bit_in_a_segment_is_noticed(path: Path) -> None:
    with closing(PreferenceStore(path)) as store:
        states = store.all()[0].query.left.states.tobytes()
    content = path.read_bytes()
    at = content.index(states[:64])
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    assert "does not match its checksum" in refused(path)


def test_a_run_without_a_window_names_the_answer_and_the_way_to_save_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "s"
    session = Session.create(folder, tiny(query__segment_steps=5, teacher="oracle"))
    with closing(session.store()) as store:
        for number in range(3):
            store.add(query(number), Choice.LEFT, "oracle")
    session.close()
    change(folder / "preferences.sqlite", "UPDATE segments SET env_steps = 7 WHERE id = 3")
    monkeypatch.setattr(sys, "argv", ["core", "teach", "--resume", str(folder)])
    assert main() == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "(number 2 does not match its checksum)" in last
    assert last.endswith(f"preferences export {folder} FOLDER saves the answers that are whole.")


@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_in_the_version_is_mended(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, bit: int
) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:63] + bytes([whole[63] ^ 1 << bit]) + whole[64:])
    with closing(PreferenceStore(path, read_only=True)) as reader:
        assert reader.count() == 2
    with caplog.at_level(logging.WARNING), closing(PreferenceStore(path)) as store:
        assert [p.query.id for p in store.all()] == [0, 1]
    assert "version was damaged" in caplog.text
    assert path.read_bytes()[60:64] == whole[60:64] == (3).to_bytes(4, "big")


def test_a_later_version_seals_its_own_and_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(schema, "VERSION", 4)
        later.setattr(schema, "_STEPS", {3: "ALTER TABLE preferences ADD COLUMN mood REAL;"})
        with closing(PreferenceStore(path)) as store:
            assert len(store.all()) == 2
    assert "newer Somersault" in refused(path)


def test_a_store_from_before_versions_were_sealed_has_it_sealed_by_the_next_answer(path: Path) -> None:
    change(path, "DELETE FROM seals WHERE preference = 0")
    with closing(PreferenceStore(path)) as store:
        store.add(query(5), Choice.TIE, "human")
    change(path, "PRAGMA user_version=7")
    with closing(PreferenceStore(path)) as store:
        assert len(store.all()) == 3


@pytest.mark.parametrize("looked_through", [0, 256 << 20])
@pytest.mark.parametrize("table", ["preferences", "seals"])
def test_rows_that_a_page_has_forgotten_are_missed_in_a_large_store_too(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_through: int, table: str
) -> None:
    """One flipped bit in the number of rows on a page: SQLite sees fewer, and finds nothing wrong."""
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    content = bytearray(path.read_bytes())
    rows = (page - 1) * 4096 + 4
    assert content[rows] in (3, 4)
    content[rows] &= 2 if content[rows] == 3 else 0
    path.write_bytes(content)
    mark.beside(path).unlink()
    monkeypatch.setattr(integrity, "_LOOKED_THROUGH", looked_through)
    assert "preferences export" in refused(path)


def test_a_row_that_is_missing_counts_as_lost(path: Path) -> None:
    change(path, "DELETE FROM preferences WHERE id = 2")
    found, lost = rescued(path)
    assert [kept.preference.id for kept in found] == [1, 3] and lost == 1


def test_a_store_from_before_there_were_checksums_gets_them(path: Path) -> None:
    change(path, "DROP TABLE seals")
    with closing(PreferenceStore(path)) as store:
        assert [p.query.id for p in store.all()] == [0, 1]
    change(path, "UPDATE preferences SET choice = 'tie' WHERE id = 1")
    refused(path)


def test_a_column_that_a_later_version_appends_spoils_no_checksum(path: Path) -> None:
    change(path, "ALTER TABLE preferences ADD COLUMN mood REAL")
    with closing(PreferenceStore(path)) as store:
        assert len(store.all()) == 2


def test_a_journal_that_would_undo_answers_is_not_played_back(path: Path) -> None:
    journal = path.with_name(path.name + "-journal")
    before = path.read_bytes()
    with closing(
        sqlite3.connect(path, isolation_level=None)
    ) as other:  # what it leaves when it is killed in the middle
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("PRAGMA cache_size=1")
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE preferences SET choice = 'tie'")
        hot = journal.read_bytes()
        other.execute("ROLLBACK")
    path.write_bytes(before)
    journal.write_bytes(hot)
    assert "move it away" in refused(journal.with_name(path.name))
    journal.unlink()
    with closing(PreferenceStore(path)) as store:
        assert len(store.all()) == 2


def test_a_store_in_use_is_not_told_of_as_damaged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr("core.preferences.store.sqlite3.connect", lambda *a, **k: connect(*a, **k, timeout=0.01))
    with closing(connect(path, isolation_level=None)) as other, closing(PreferenceStore(path)) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UserError, match="in use by another program") as told:
            store.add(query(5), Choice.LEFT, "human")
        assert "damaged" not in str(told.value)
        other.execute("ROLLBACK")
        store.add(query(5), Choice.LEFT, "human")


def test_no_answer_goes_into_a_file_that_is_gone(path: Path) -> None:
    """SQLite itself would go on writing into the deleted file, and say that all is well."""
    folder = path.parent
    with closing(PreferenceStore(path)) as store:
        shutil.move(folder, folder.with_name("elsewhere"))
        with pytest.raises(UserError, match="is gone"):
            store.add(query(7), Choice.LEFT, "human")
        shutil.move(folder.with_name("elsewhere"), folder)
        store.add(query(8), Choice.LEFT, "human")
        assert [p.query.id for p in store.all()] == [0, 1, 8]


def test_a_clock_set_back_disorders_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Iterator[float] = iter((1e9, 5.0, -7.0))
    monkeypatch.setattr(time, "time", lambda: next(clock))
    with closing(PreferenceStore(path)) as store:
        for number in (11, 12, 13):
            store.add(query(number), Choice.LEFT, "human")
        assert [p.query.id for p in store.all()] == [0, 1, 11, 12, 13]
        last = store.undo()
        assert last and last.query.id == 13


def test_a_creation_cut_short_leaves_an_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one with half the tables, which would be taken for another program's."""
    path = tmp_path / "preferences.sqlite"
    monkeypatch.setattr(
        "core.preferences.schema._STEPS", {0: "CREATE TABLE segments (id); CREATE TABLE nonsense syntax;"}
    )
    with pytest.raises(UserError):
        PreferenceStore(path)
    monkeypatch.undo()
    with closing(PreferenceStore(path)) as store:
        assert store.all() == []


CROWDED = "WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n LIMIT 20000) INSERT INTO"


@pytest.mark.parametrize(
    "rows",
    [
        "seals SELECT x, 0 FROM n",
        "segments SELECT x, 0, x'00' FROM n",
        "preferences (id, left_segment, right_segment, query, choice, labeller, answered_at)"
        " SELECT x, 1, 2, 0, 'left', 'human', 0 FROM n",
        "changes SELECT x, 1, 'left', 'human', 0, 0 FROM n",
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_more_rows_than_a_session_can_have_are_counted_and_never_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, rows: str, read_only: bool
) -> None:
    monkeypatch.setattr(integrity, "MOST_ROWS", 50)
    with closing(PreferenceStore(path, read_only)) as store:
        assert store.count() == 2
    change(path, f"{CROWDED} {rows}")
    steps: list[int] = []
    connect = sqlite3.connect

    def watched(*args: object, **options: object) -> sqlite3.Connection:
        db = connect(*args, **options)  # type: ignore[call-overload]
        db.set_progress_handler(lambda: steps.append(1), 100)
        return db  # type: ignore[no-any-return]

    monkeypatch.setattr("core.preferences.store.sqlite3.connect", watched)
    with pytest.raises(UserError, match=f"more than 50 rows of {rows.split()[0]}, .*put a copy of it back") as told:
        PreferenceStore(path, read_only)
    assert str(path) in str(told.value) and len(steps) < 15
    with pytest.raises(UserError, match="more than 50 rows"):
        rescued(path)


def test_a_store_that_is_full_takes_no_more_and_opens_with_what_it_has(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "MOST_ROWS", 8)
    with closing(PreferenceStore(path)) as store:
        store.add(query(3), Choice.LEFT, "human")
        with pytest.raises(UserError, match="holds as many answers as a session can: start a new session"):
            store.add(query(4), Choice.LEFT, "human")
        for number in range(8):
            store.change(1, list(Choice)[number % 2], "human")
        with pytest.raises(UserError, match="as many answers"):
            store.change(1, Choice.TIE, "human")
        store.undo()
    with closing(PreferenceStore(path)) as store:
        assert [p.query.id for p in store.all()] == [0, 1]
        assert len(store.answers(1)[0].changes) == 8


def test_a_number_far_beyond_all_answers_costs_the_rescue_no_time(path: Path) -> None:
    change(path, f"INSERT INTO seals VALUES ({1 << 62}, 0)")
    assert "preferences export" in refused(path)
    found, lost = rescued(path)
    assert [kept.preference.id for kept in found] == [1, 2, 3] and lost == 1


def test_an_answer_without_a_checksum_counts_as_lost(path: Path) -> None:
    change(path, "DELETE FROM seals WHERE preference = 2")
    mark.beside(path).unlink()
    found, lost = rescued(path)
    assert [kept.preference.id for kept in found] == [1, 3] and lost == 1


@pytest.mark.parametrize("key", [0, -5])
def test_an_answer_with_a_number_below_one_is_none_of_ours(path: Path, key: int) -> None:
    with closing(sqlite3.connect(path)) as vandal:
        vandal.execute("UPDATE preferences SET id = ? WHERE id = 3", (key,))
        vandal.execute("DELETE FROM seals WHERE preference = 3")
        if key:
            integrity.seal(vandal, key)
        vandal.commit()
    assert f"number {key} is missing, or its checksum" in refused(path)


@pytest.mark.parametrize("last", [False, True])
def test_answers_beyond_a_damaged_page_of_checksums_are_saved(tmp_path: Path, last: bool) -> None:
    path = tmp_path / "preferences.sqlite"
    with closing(PreferenceStore(path)) as store:
        store.restore([StoredPreference(preference(number), False) for number in range(1, 1501)])
    content = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'seals'").fetchone()
    second = int.from_bytes(content[(root - 1) * 4096 + 14 :][:2], "big")
    cell = 8 if last else second  # where the root says what its last or its second child is
    leaf = int.from_bytes(content[(root - 1) * 4096 + cell :][:4], "big")
    content[(leaf - 1) * 4096 : leaf * 4096] = bytes(4096)
    path.write_bytes(content)
    found, lost = rescued(path)
    missed = sorted(set(range(1, 1501)) - {entry.preference.id for entry in found})
    assert 0 < len(missed) == lost < 600 and missed == list(range(missed[0], missed[0] + lost))
    assert (missed[-1] == 1500) == last
