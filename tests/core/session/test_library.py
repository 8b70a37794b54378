"""Listing and copying of sessions without opening them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from core.config import Config
from core.errors import UserError
from core.events import JobState
from core.preferences.store import PreferenceStore
from core.session import library, summary
from core.session.routing import JOBS
from core.session.session import Session, acquire_lock
from core.session.summary import Summary
from core.types import Choice
from tests.core.builders import query

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a session with this number of answers, and a summary if `used_at` is given."""

    def made(name: str, answers: int = 0, used_at: float | None = None) -> Path:
        session = Session.create(tmp_path / "sessions" / name, Config(task="reacher", teacher="human", labels=40))
        with closing(session.store()) as store:
            for number in range(answers):
                store.add(query(number), Choice.LEFT, "human")
        if used_at is not None:
            record = Summary("reacher", "oracle", answers, 500, "Distance", 0.5, used_at)
            summary.write(session.folder, record)
        session.close()
        return session.folder

    return made


def names(root: Path) -> list[str]:
    return [entry.folder.name for entry in library.sessions(root)]


def labels(folder: Path) -> int:
    with closing(PreferenceStore(folder / "preferences", read_only=True)) as store:
        return store.count()


def test_without_a_summary_the_config_and_the_store_are_asked(make: Make) -> None:
    folder = make("plain", answers=3)
    with closing(PreferenceStore(folder / "preferences")) as store:
        store.undo()
    os.utime(folder, (5000, 5000))
    found = library.entry(folder)
    assert found.summary == Summary("reacher", "human", 2, 0, "", None, found.changed_at)
    assert (found.changed_at, found.problem) == (5000.0, "")


def test_answers_newer_than_the_summary_are_counted(make: Make) -> None:
    folder = make("crashed", answers=1, used_at=7.0)
    with closing(PreferenceStore(folder / "preferences")) as store:
        store.add(query(9), Choice.LEFT, "human")
    os.utime(folder / "summary.json", (5000, 5000))
    assert library.entry(folder).summary == Summary("reacher", "oracle", 2, 500, "Distance", 0.5, 7.0)


def test_sessions_in_other_folders_are_listed_while_they_exist(make: Make, tmp_path: Path) -> None:
    make("here", used_at=1.0)
    away = tmp_path / "away"
    Session.create(away, Config()).close()
    root = tmp_path / "sessions"
    found = library.sessions(root, [away, tmp_path / "gone", root / "here"])
    assert sorted(entry.folder.name for entry in found) == ["away", "here"]


def test_a_copy_is_complete_and_independent(make: Make) -> None:
    folder = make("s", answers=2, used_at=7.0)
    (folder / summary.PICTURE).write_bytes(b"a picture")
    (folder / "policies").mkdir()
    beside = ("policies/000000001000.safetensors", "metrics.safetensors", "votes.jsonl")
    for name in beside:
        (folder / name).write_bytes(name.encode())
    session = Session.open(folder)
    session.save(4, {name: JobState({"x": np.full(1000, 2.0)}, {"n": 4}) for name in JOBS})
    session.close()
    shares: list[float] = []
    copy = folder.parent / "copy"
    library.duplicate(folder, copy, shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert (copy / summary.PICTURE).read_bytes() == b"a picture"
    assert [(copy / name).read_bytes() for name in beside] == [name.encode() for name in beside]
    assert (copy / "config.json").read_bytes() == (folder / "config.json").read_bytes()
    assert library.entry(copy).summary == library.entry(folder).summary
    again = Session.open(copy)
    with closing(again.store()) as store:
        store.add(query(8), Choice.TIE, "human")
        assert store.count() == 3
    loaded = again.load()
    assert loaded and loaded[0] == 4 and loaded[1]["policy"].arrays["x"].tolist() == [2.0] * 1000
    again.close()
    assert labels(folder) == 2


def test_a_session_that_is_open_is_not_copied(make: Make) -> None:
    session = Session.open(make("s"))
    with pytest.raises(UserError, match="open in another Somersault"):
        library.duplicate(session.folder, session.folder.parent / "copy")
    session.close()
    assert names(session.folder.parent) == ["s"]


def test_a_copy_never_replaces_a_folder(make: Make) -> None:
    folder, other = make("s"), make("other", answers=1)
    with pytest.raises(UserError, match="not an empty folder"):
        library.duplicate(folder, other)
    assert labels(other) == 1


def test_a_session_opened_in_one_thread_can_be_closed_in_another(make: Make) -> None:
    folder, opened = make("s"), list[Session]()
    thread = threading.Thread(target=lambda: opened.append(Session.open(folder)))
    thread.start()
    thread.join()
    with pytest.raises(UserError, match="open in another Somersault"):
        acquire_lock(folder).release()
    opened[0].close()
    acquire_lock(folder).release()


def test_an_unreachable_folder_hides_no_other_session(make: Make, tmp_path: Path) -> None:
    make("here")
    unreachable = tmp_path / ("x" * 300)
    (tmp_path / "sessions" / "link").symlink_to(unreachable)
    assert [found.folder.name for found in library.sessions(tmp_path / "sessions", [unreachable])] == ["here"]
