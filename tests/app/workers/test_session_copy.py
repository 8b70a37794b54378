"""A copy of an open session outside its folder, which may be deleted at any moment."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.workers import session_copy
from app.workers.session_copy import SessionCopy
from core.errors import UserError
from core.session.policy_snapshots import KEPT, PolicySnapshots
from core.session.session import Session
from core.types import Choice
from core.voting.record import append_votes, read_votes
from tests.core.builders import one_sentence, query, raising, tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a session without answers."""
    Session.create(tmp_path / "s", tiny()).close()
    return tmp_path / "s"


@pytest.fixture
def copied(folder: Path) -> Iterator[SessionCopy]:
    """A copy of three answers whose session is gone."""
    session = Session.open(folder)
    with closing(session.store()) as store, closing(SessionCopy(folder)) as copy:
        for number in range(3):
            store.add(query(number), Choice.LEFT, "human")
            copy.update()
        session.close()
        shutil.rmtree(folder)
        yield copy


def keep(folder: Path, name: int, content: bytes) -> Path:
    (folder / "policies").mkdir(parents=True, exist_ok=True)
    path = folder / "policies" / f"{name:012d}.safetensors"
    path.write_bytes(content)
    return path


def policies(copy: SessionCopy, folder: Path) -> dict[int, bytes]:
    """Write a session in this folder, and return the policies that it has."""
    copy.write_session(folder, tiny()).close()
    written = {int(path.stem): path.read_bytes() for path in PolicySnapshots(folder).files()}
    assert copy.policies == len(written)
    return written


@pytest.mark.parametrize("call", ["builtins.open", "os.fsync", "os.replace"])
def test_a_session_that_can_not_be_written_leaves_no_trace_and_can_be_tried_again(
    copied: SessionCopy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with monkeypatch.context() as failing, pytest.raises(UserError, match="make room on the disk") as refused:
        failing.setattr(call, raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        copied.write_session(place / "saved", tiny())
    one_sentence(refused.value)
    assert not list(place.iterdir())
    with closing(copied.write_session(place / "saved", tiny())) as session:
        assert session.labels() == 3
        with pytest.raises(UserError, match="is open in another"):
            Session.open(place / "saved")


def test_an_answer_for_which_there_was_no_room_is_copied_later(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.open(folder)
    with closing(session), closing(session.store()) as store, closing(SessionCopy(folder)) as copy:
        store.add(query(0), Choice.LEFT, "human")
        copy.update()
        store.add(query(1), Choice.LEFT, "human")
        with monkeypatch.context() as failing, pytest.raises(OSError, match="No space"):
            failing.setattr(session_copy, "read_file", raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
            copy.update()
        with closing(copy.write_session(tmp_path / "one", tiny())) as written:
            assert written.labels() == 1
        copy.update()
        with closing(copy.write_session(tmp_path / "two", tiny())) as written:
            assert written.labels() == 2


def test_what_a_deletion_takes_is_still_written_and_what_could_not_be_read_is_not_counted(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in range(3):
        keep(folder, name, b"%d" % name)
    os.mkfifo(folder / "policies" / f"{9:012d}.safetensors")
    with closing(SessionCopy(folder)) as copy:
        copy.update()
        assert copy.policies == 3 and "000000000009.safetensors was not copied" in caplog.text
        keep(folder, 1, b"changed")
        append_votes(folder, 1, Choice.LEFT, {"a": Choice.LEFT})
        copy.update()
        shutil.rmtree(folder / "policies")
        copy.update()
        shutil.rmtree(folder)
        with pytest.raises(OSError, match="No such file"):
            copy.update()
        assert policies(copy, tmp_path / "new") == {0: b"0", 1: b"changed", 2: b"2"}
        assert read_votes(tmp_path / "new")[1].choice == Choice.LEFT


def test_copies_of_policies_that_a_session_no_longer_keeps_go(folder: Path, tmp_path: Path) -> None:
    with closing(SessionCopy(folder)) as copy:
        for name in range(KEPT):
            keep(folder, name, b"x")
        copy.update()
        keep(folder, 5, b"x").unlink()
        keep(folder, KEPT, b"x")
        copy.update()
        assert len(policies(copy, tmp_path / "new")) == KEPT and 5 not in policies(copy, tmp_path / "other")


def test_policies_that_were_deleted_before_the_folder_are_saved_too(folder: Path, tmp_path: Path) -> None:
    with closing(SessionCopy(folder)) as copy:
        for name in range(5):
            keep(folder, name, b"x")
        copy.update()
        shutil.rmtree(folder / "policies")  # by something that deletes file after file
        keep(folder, 6, b"x")
        copy.update()
        assert sorted(policies(copy, tmp_path / "new")) == [0, 1, 2, 3, 4, 6]


def test_a_copy_is_on_the_disk_of_the_cache_and_leaves_no_file_even_if_the_process_is_killed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))  # where files may be in memory
    session = Session.open(folder)
    with closing(session), closing(session.store()) as store, closing(SessionCopy(folder)) as copy:
        store.add(query(0), Choice.LEFT, "human")
        keep(folder, 1, b"x")
        copy.update()
        assert [path for path in cache.rglob("*") if path.is_file()] == []
        copy.write_session(tmp_path / "new", tiny()).close()
        assert (tmp_path / "new").stat().st_mode == folder.stat().st_mode
