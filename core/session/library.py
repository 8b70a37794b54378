"""The sessions in a folder: what there is to say of each without opening it, and a second copy of one."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.io import files as disk
from core.preferences.store import PreferenceStore
from core.session import summary
from core.session.session import Session, acquire_lock, read_config, require_answers, training_files
from core.session.summary import Summary

log = logging.getLogger(__name__)
_CONFIG, _STORE = "config.json", "preferences.sqlite"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class SessionEntry:
    """One session as it is listed. `problem`, where there is one, says in a sentence why it can't be opened."""

    folder: Path
    summary: Summary | None
    changed_at: float
    """Seconds since the epoch: when it was last opened, or where that is not known its folder was last changed."""
    problem: str = ""


def sessions(root: Path, elsewhere: Iterable[Path] = ()) -> list[SessionEntry]:
    """Every session in the folder, the last opened first; unreadable ones too. UserError where it can't be read.

    elsewhere: sessions in other folders, which are listed too as long as they are there
    """
    folders = [path for path in elsewhere if path.is_dir() and path.parent != root]
    try:
        folders += [path for path in root.iterdir() if path.is_dir() and not path.name.endswith(".part")]
    except FileNotFoundError:
        pass  # the first session makes it
    except OSError as error:
        raise UserError(f"{root} can't be read ({disk.reason(error)}): check that you may read it.") from error
    return sorted(map(entry, folders), key=lambda found: found.changed_at, reverse=True)


def entry(folder: Path) -> SessionEntry:
    """What its summary says; without one, as far as that is cheap, what its config and its store do."""
    try:
        changed = folder.stat().st_mtime
    except OSError as error:
        return SessionEntry(folder, None, 0.0, f"{folder.name} can't be read ({disk.reason(error)}).")
    try:
        config = read_config(folder)  # a summary that is whole does not make a session whole
        store = require_answers(folder)
        told = _told(folder)
        if told is None:
            labels = answers(store)
            told = Summary(config.task, config.teacher, labels, config.labels, 0, "", None, changed)
    except UserError as error:
        return SessionEntry(folder, None, changed, str(error))
    return SessionEntry(folder, told, told.opened_at)


def _told(folder: Path) -> Summary | None:
    try:
        return summary.read(folder)
    except UserError as error:  # the session itself may be whole
        log.info("%s", error)
        return None


def answers(store: Path) -> int:
    """How many labels stand in it; 0 where there is no store yet. UserError where that can't be told."""
    if not store.exists() or not store.stat().st_size:
        return 0
    with closing(PreferenceStore(store, read_only=True)) as read:
        return read.count()


def duplicate(source: Path, target: Path, tell: Callable[[float], None] = lambda share: None) -> None:
    """Makes `target`, which must not exist, a session of its own with all that `source` has, or leaves no trace.

    tell: called with the share that is copied. UserError where another program has the session open, or it can't be.
    """
    disk.require_new(target, "give the copy another name")
    session = Session.open(source)
    try:
        with tempfile.TemporaryDirectory(prefix=f"{target.name}.", suffix=".part", dir=target.parent) as made:
            inside = Path(made) / "session"
            _copy(session, inside, tell)
            disk.sync_tree(inside)
            os.replace(inside, target)
            disk.sync_folder(target.parent)
    except OSError as error:
        raise UserError(f"{target} can't be written ({disk.reason(error)}): {disk.remedy(error)}.") from error
    finally:
        session.close()


def _copy(session: Session, inside: Path, tell: Callable[[float], None]) -> None:
    inside.mkdir()
    with closing(session.store()) as store:
        store.copy_to(inside / _STORE)
    copied = (inside / _STORE).stat().st_size
    listed = [session.folder / name for name in (_CONFIG, summary.NAME, summary.PICTURE)]
    paths = [path for path in (*listed, *training_files(session.folder)) if path.is_file()]
    files = {path: inside / path.relative_to(session.folder) for path in paths}
    whole = copied + sum(here.stat().st_size for here in files)
    for here, there in files.items():
        there.parent.mkdir(exist_ok=True)
        with open(here, "rb") as read, open(there, "xb") as written:
            while chunk := read.read(_CHUNK):
                written.write(chunk)
                copied += len(chunk)
                tell(copied / max(1, whole))
        shutil.copystat(here, there)


def require_free(folder: Path) -> None:
    """UserError where a program has this session open, damaged or not."""
    acquire_lock(folder).release()
