"""The log of writes beside a store that was not closed: spoiled, cut short, torn by a power cut, or gone."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import UserError
from core.preferences import mark, wal_check
from core.preferences import store as preferences
from core.preferences.store import PreferenceStore
from core.session.preference_export import export_preferences
from core.session.session import Session, require_answers
from core.types import Choice
from tests.core.builders import query, tiny

ANSWERS = 6
_FRAME = 24 + 4096


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files as a kill leaves them: all six answers are in the log, and the first of them was changed."""
    monkeypatch.setattr(preferences, "_PAGES_IN_LOG", 100_000)
    session = Session.create(tmp_path / "alive", tiny())
    with closing(session.store()) as store:
        for number in range(ANSWERS):
            store.add(query(number), Choice.LEFT, "human")
        store.change(1, Choice.RIGHT, "human")
        shutil.copytree(session.folder, tmp_path / "killed")
    session.close()
    yield tmp_path / "killed" / "preferences.sqlite"


def flip(log: Path, at: int) -> None:
    content = bytearray(log.read_bytes())
    content[at] ^= 1
    log.write_bytes(content)


def answers(store: Path) -> int:
    with closing(PreferenceStore(store)) as opened:
        return len(opened.all())


def commits(log: Path) -> list[int]:
    """Where in the log the frames begin that end a transaction."""
    content = log.read_bytes()
    starts = range(32, len(content), _FRAME)
    return [start for start in starts if struct.unpack_from(">6I", content, start)[1]]


def refused(store: Path, **options: bool) -> str:
    with pytest.raises(UserError) as told:
        PreferenceStore(store, **options)
    text = str(told.value)
    assert "\n" not in text and text.endswith(".")
    return text


def test_a_whole_log_is_taken_up(killed: Path) -> None:
    found = wal_check.extent(killed)
    assert found.whole == wal_check.beside(killed).stat().st_size and not found.spoiled
    assert answers(killed) == ANSWERS


@pytest.mark.parametrize("at", [5, 17, 32 + 3, 32 + 10, 32 + 20, 32 + 24 + 100, 32 + 3 * _FRAME + 500])
@pytest.mark.parametrize("read_only", [False, True])
def test_one_flipped_bit_in_it_is_noticed_and_nothing_is_touched(killed: Path, at: int, read_only: bool) -> None:
    flip(wal_check.beside(killed), at)
    before = {path.name: path.read_bytes() for path in killed.parent.iterdir()}
    assert "is damaged" in refused(killed, read_only=read_only)
    assert {path.name: path.read_bytes() for path in killed.parent.iterdir()} == before


def test_what_is_whole_before_the_flipped_bit_can_be_saved(killed: Path, tmp_path: Path) -> None:
    log = wal_check.beside(killed)
    flip(log, commits(log)[4] + 24 + 7)  # in the third answer: the first two commits made the tables and the seals
    before = log.read_bytes()
    session = Session.open(killed.parent)
    assert export_preferences(session, tmp_path / "saved") == (2, ANSWERS - 2)
    session.close()
    assert log.read_bytes() == before


def test_answers_that_the_store_itself_has_are_saved_though_its_log_has_older_ones(
    killed: Path, tmp_path: Path
) -> None:
    """A log is played into the store before it begins anew; a kill in between leaves both."""
    log = wal_check.beside(killed)
    content = log.read_bytes()
    assert answers(killed) == ANSWERS
    log.write_bytes(content)
    flip(log, 32 + 24 + 100)
    session = Session.open(killed.parent)
    assert export_preferences(session, tmp_path / "saved") == (ANSWERS, 0)
    session.close()


def zeroed_header(log: Path) -> None:
    content = log.read_bytes()
    log.write_bytes(bytes(32) + content[32:])


def zeroed_block(log: Path) -> None:
    """With the head of the frame: nothing in the log itself tells where the answer was that it ended."""
    content, at = log.read_bytes(), commits(log)[-1]
    log.write_bytes(content[:at] + bytes(_FRAME) + content[at + _FRAME :])


def halved(log: Path) -> None:
    log.write_bytes(log.read_bytes()[: commits(log)[4]])


def without_header(log: Path) -> None:
    log.write_bytes(b"")


@pytest.mark.parametrize("spoil", [zeroed_header, zeroed_block, halved, without_header, Path.unlink])
@pytest.mark.parametrize("read_only", [False, True])
def test_no_answer_of_it_is_lost_without_a_word(killed: Path, spoil: Callable[[Path], None], read_only: bool) -> None:
    log = wal_check.beside(killed)
    spoil(log)
    left = log.read_bytes() if log.exists() else None
    assert "-wal" in refused(killed, read_only=read_only)
    aside = log.with_name(log.name + ".damaged")
    assert left is None or left in (path.read_bytes() for path in (log, aside) if path.exists())


def test_how_many_are_lost_is_said_once_and_how_to_go_on(killed: Path) -> None:
    halved(wal_check.beside(killed))
    told = refused(killed)
    whole = ANSWERS - int(told.split(" lacks ")[1].split()[0])
    assert 0 < whole < ANSWERS and "1 changed choice " in told and told.endswith("to go on without.")
    mark.beside(killed).unlink()
    assert answers(killed) == whole


def test_a_changed_choice_is_missed_too(killed: Path) -> None:
    zeroed_block(wal_check.beside(killed))
    assert "lacks 1 changed choice that" in refused(killed)


def test_a_store_that_is_gone_is_missed_before_there_is_any_checkpoint(killed: Path) -> None:
    killed.unlink()
    wal_check.beside(killed).unlink()
    with pytest.raises(UserError, match="is gone"):
        require_answers(killed.parent)


@pytest.mark.parametrize("frames", [1, 63, 64, 65, 1_000, 100_003])
def test_what_follows_a_hole_is_found_and_a_hole_alone_is_no_damage(killed: Path, frames: int) -> None:
    log = wal_check.beside(killed)
    content, at = log.read_bytes(), commits(log)[1]
    log.write_bytes(content[:at])
    with open(log, "r+b") as file:
        for cut in (100, 0):  # amid a frame, too
            file.truncate(at + frames * _FRAME - cut)
            assert not wal_check.is_spoiled(killed)
        file.seek(0, os.SEEK_END)
        file.write(content[at:])
    assert wal_check.extent(killed) == wal_check.Extent(content[:32], at, True)


def test_a_torn_end_is_no_damage(killed: Path) -> None:
    """A power cut in the middle of an answer: of its pages some are on the disk, in whatever order."""
    log = wal_check.beside(killed)
    content, (*_, before, last) = log.read_bytes(), commits(log)
    assert last - before > _FRAME
    log.write_bytes(content[: before + _FRAME] + bytes(_FRAME) + content[before + 2 * _FRAME :])
    assert not wal_check.is_spoiled(killed)
    mark.write(killed, mark.Mark(ANSWERS, 0))  # as it was before the last
    assert answers(killed) == ANSWERS


def test_what_an_earlier_round_left_at_its_end_is_no_damage(killed: Path) -> None:
    with closing(sqlite3.connect(killed, isolation_level=None)) as db:
        db.execute("PRAGMA wal_checkpoint(RESTART)")
        db.execute("PRAGMA user_version=3")
        log = wal_check.beside(killed)
        found = wal_check.extent(killed)
        assert 32 < found.whole < log.stat().st_size and not found.spoiled
    assert answers(killed) == ANSWERS


def test_a_store_in_use_can_be_looked_into_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "preferences.sqlite"
    with closing(PreferenceStore(path)) as store:
        for number in range(1, 40):  # the log begins anew a few times
            store.add(query(number), Choice.LEFT, "human")
            assert not wal_check.is_spoiled(path)
            with closing(PreferenceStore(path, read_only=True)) as reader:
                assert reader.count() == number


def test_little_is_in_the_log_alone(tmp_path: Path) -> None:
    path = tmp_path / "preferences.sqlite"
    with closing(PreferenceStore(path)) as store:
        for number in range(40):
            store.add(query(number), Choice.LEFT, "human")
        shutil.copy(path, tmp_path / "alone.sqlite")
    assert answers(tmp_path / "alone.sqlite") >= 25


@pytest.mark.parametrize("content", [b"", b"6 1", b"000000000009 000000000000#00000000\n", b"x" * 500])
def test_a_mark_that_cannot_be_read_stops_nobody(killed: Path, content: bytes) -> None:
    mark.beside(killed).write_bytes(content)
    assert answers(killed) == ANSWERS


def test_a_mark_that_cannot_be_written_stops_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "preferences.sqlite"
    mark.beside(path).mkdir()
    with closing(PreferenceStore(path)) as store:
        store.add(query(1), Choice.LEFT, "human")
        assert len(store.all()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="it has no way to refuse a link")
def test_a_mark_that_is_a_link_is_not_written_to_what_it_points_at(tmp_path: Path) -> None:
    path = tmp_path / "preferences.sqlite"
    (tmp_path / "letter").write_text("Dear Jane")
    mark.beside(path).symlink_to("letter")
    with closing(PreferenceStore(path)) as store:
        store.add(query(1), Choice.LEFT, "human")
        assert len(store.all()) == 1
    assert (tmp_path / "letter").read_text() == "Dear Jane"
