"""Sessions whose folder or lock is moved away, replaced or deleted while they are open."""

from __future__ import annotations

import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import UserError
from core.session.session import Session
from core.types import Choice
from tests.core.builders import STATES, query, tiny


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A closed session with an answer."""
    made = Session.create(tmp_path / "s", tiny(query__segment_steps=5))
    with closing(made.store()) as store:
        store.add(query(1), Choice.LEFT, "human")
    made.close()
    return made.folder


@pytest.mark.parametrize("ghost", [False, True])
def test_a_session_moved_while_open_is_not_recreated_at_its_old_place(tmp_path: Path, ghost: bool) -> None:
    """ghost: whether another program has made an empty folder in its place"""
    session = Session.create(tmp_path / "s", tiny())
    session.save(1, STATES)
    session.folder.rename(tmp_path / "away")
    if ghost:
        session.folder.mkdir()
    for write in (lambda: session.save(2, STATES), lambda: session.reconfigure(labels=13)):
        with pytest.raises(UserError, match="is gone. Bring the session's folder back"):
            write()
    assert not list(tmp_path.glob("s/*")) and session.folder.exists() == ghost
    if ghost:
        session.folder.rmdir()
    (tmp_path / "away").rename(session.folder)
    session.save(2, STATES)
    loaded = session.load()
    assert loaded and loaded[0] == 2 and session.config.labels == tiny().labels
    session.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets nobody delete what is open")
def test_a_session_replaced_by_its_own_copy_must_be_reopened(session: Path) -> None:
    mine = Session.open(session)
    with closing(mine.store()) as store:
        shutil.copytree(session, session.with_name("copy"))
        shutil.rmtree(session)
        with pytest.raises(UserError, match="is gone. Bring the session's folder back"):
            store.add(query(2), Choice.RIGHT, "human")
        shutil.copytree(session.with_name("copy"), session)
        with pytest.raises(UserError, match=r"was replaced by another copy: close the session and open it again\.$"):
            store.add(query(2), Choice.RIGHT, "human")
    mine.close()
    again = Session.open(session)
    with closing(again.store()) as store:
        assert store.add(query(2), Choice.RIGHT, "human").id == 2
        assert [kept.choice for kept in store.each()] == [Choice.LEFT, Choice.RIGHT]
    again.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets nobody delete what is open")
@pytest.mark.parametrize("taken", [False, True])
def test_a_session_without_its_lock_writes_nothing_more(session: Path, taken: bool) -> None:
    """taken: whether another program has created a new lock and owns the session"""
    mine = Session.open(session)
    store = mine.store()
    (session / "lock").unlink()
    other = Session.open(session) if taken else None
    for write in (
        lambda: mine.save(2, STATES),
        lambda: mine.reconfigure(labels=13),
        lambda: store.add(query(2), Choice.RIGHT, "human"),
    ):
        with pytest.raises(UserError, match="lock was deleted or replaced") as refused:
            write()
        assert "\n" not in str(refused.value)
    assert [kept.choice for kept in store.each()] == [Choice.LEFT]
    store.close()
    mine.close()
    owner = other or Session.open(session)
    owner.save(2, STATES)
    owner.reconfigure(labels=13)
    loaded = owner.load()
    assert loaded and loaded[0] == 2 and owner.config.labels == 13
    owner.close()
