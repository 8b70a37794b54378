"""A session: one teaching run, its folder on disk, and the loop between its jobs.

This is the only file that closes the loop. It hands reward snapshots back to the rollout and everything else to
whom it concerns, whether the jobs take turns (core.headless.run) or run freely in children (app.session.controller).
It stays light, so that the window may import it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from core.config import Config, replaced
from core.errors import UserError
from core.events import (
    JobState,
)
from core.io import files
from core.preferences.store import FOLDER, LOG, PreferenceStore
from core.session import checkpoint, metrics_file
from core.session.policy_snapshots import PolicySnapshots, snapshots_of
from core.session.size_limits import require_bearable
from core.system import resources
from core.tasks import get_task

log = logging.getLogger(__name__)
CONFIG = "config.json"
_MAX_CONFIG = 1 << 20
"""Bytes; real ones have two thousand."""


class Session:
    """The folder of one teaching run, owned by this process until `close`."""

    def __init__(self, folder: Path, config: Config, lock: FileLock) -> None:
        self.folder = folder.absolute()  # what is logged of it must be known for a path when the log is given away
        self.config = config
        self._lock = lock
        self._locked = files.identity(folder / "lock")

    @staticmethod
    def create(folder: Path, config: Config) -> Session:
        """Makes the folder. UserError if it holds a session already, can't be made, or has no room."""
        if os.path.exists(folder / CONFIG):
            raise UserError(f"{folder} holds a session already: go on with --resume {folder}, or name another folder.")
        files.require_empty(folder)
        require_bearable(config, get_task(config.task))
        resources.require_room(folder, resources.session_room(get_task(config.task).pictures is not None))
        made = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in made:
                files.sync_folder(path.absolute().parent)
        except OSError as error:
            raise UserError(f"{folder} can't be made ({error.strerror}): name a folder that you may write.") from error
        lock = locked(folder)
        try:
            PreferenceStore(folder / FOLDER).close()
            files.write_atomically(folder / CONFIG, json.dumps(config.to_dict(), indent=1).encode())
        except UserError:
            lock.release()
            files.clear_away(folder / "lock")  # the folder must be empty for the next attempt
            shutil.rmtree(folder / FOLDER, ignore_errors=True)
            raise
        return Session(folder, config, lock)

    @staticmethod
    def open(folder: Path) -> Session:
        """Opens an existing session. UserError if it is none or one too large, or another program has it."""
        config = read_config(folder)
        require_bearable(config, get_task(config.task))
        return Session(folder, config, locked(folder))

    def store(self) -> PreferenceStore:
        """Store of answers; open one in each thread that needs it. Raises UserError if it is missing or damaged."""
        return PreferenceStore(require_answers(self.folder), require_owner=self._require_owner)

    def labels(self) -> int:
        """Number of labels. Raises UserError as `reader` does."""
        with contextlib.closing(self.reader()) as store:
            return store.count()

    def reader(self) -> PreferenceStore:
        """Store of answers for a thread that only reads, while another one writes. Raises UserError as `store` does."""
        return PreferenceStore(require_answers(self.folder), read_only=True)

    def reconfigure(self, **changes: Any) -> None:
        """Keeps other values of the config, named as for `replaced`, from now on. UserError where it can't."""
        config = replaced(self.config, **changes)
        self._require_own()
        files.write_atomically(self.folder / CONFIG, json.dumps(config.to_dict(), indent=1).encode())
        self.config = config

    def save(self, number: int, states: dict[str, JobState]) -> None:
        """Keeps a checkpoint. UserError where it can't, also where the session's folder is gone: none is made anew."""
        self._require_own()
        checkpoint.save_checkpoint(self.folder / "checkpoints", number, states)

    def _require_own(self) -> None:
        files.require_session(self.folder)
        self._require_owner()

    def _require_owner(self) -> None:
        """UserError where the lock is on a file that others don't find. Windows lets nobody delete one that is open."""
        lock = self.folder / "lock"
        if os.name != "nt" and files.identity(lock) != self._locked:
            raise UserError(
                f"{lock} was deleted or replaced while the session is open, so another Somersault may have it too: "
                "close it and open it again."
            )

    def load(self, tell: Callable[[str], None] | None = None) -> tuple[int, dict[str, JobState]] | None:
        """The newest whole checkpoint; `tell` gets a sentence where a damaged one gave way to it."""
        return checkpoint.load_newest(self.folder / "checkpoints", tell)

    def snapshots(self) -> PolicySnapshots:
        """The policies of its past. Use in one thread."""
        return snapshots_of(self.folder, self.config)

    def close(self) -> None:
        self._lock.release()


def learned(folder: Path) -> list[Path]:
    """What the session in `folder` keeps of its training: checkpoints, earlier policies, and curves if it has some."""
    curve = folder / metrics_file.NAME
    paths = [*checkpoint.kept(folder / "checkpoints"), *PolicySnapshots(folder).paths()]
    return [*paths, curve] if curve.is_file() else paths


def require_answers(folder: Path) -> Path:
    """Store of answers of the session in `folder`. Raises UserError if it is missing."""
    path = folder / FOLDER
    if not os.path.lexists(path / LOG):
        raise UserError(f"{path / LOG}, the list of answers, is gone: put a copy of {path} back.")
    return path


def read_config(folder: Path) -> Config:
    """The config of the session in `folder`; UserError if there is none that can be read."""
    path = folder / CONFIG
    try:
        return Config.from_dict(json.loads(files.read_small(path, _MAX_CONFIG)))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{folder} is not a session: there is no config.json in it.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} can't be read ({error}): is it a session of this program?") from error


def locked(folder: Path) -> FileLock:
    """The folder's lock; UserError where another program has it.

    The operating system drops it when its owner dies, so none is ever stale.
    """
    lock = FileLock(folder / "lock", thread_local=False)  # a session may be opened in one thread and closed in another
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UserError(f"{folder} is open in another Somersault: close it there first.") from error
    except OSError as error:
        raise UserError(f"{folder} can't be written ({error.strerror}): check its permissions.") from error
    return lock
