"""The folder of one training run: config, lock, preferences and checkpoints."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from core.config import Config, replaced
from core.errors import UserError
from core.events import JobState
from core.formatting import first_free
from core.io import files
from core.preferences.store import FOLDER, LOG, PreferenceStore, damaged
from core.session import checkpoint, metrics_file
from core.session.before_finish import BeforeFinish
from core.session.checkpoint import CHECKPOINTS
from core.session.checkpoint_schedule import INTERVAL
from core.session.job_states import request_publication
from core.session.plain_files import require_plain
from core.session.policy_snapshots import PolicySnapshots, snapshots_of
from core.session.size_limits import check_size_limits
from core.system import resources
from core.tasks import get_task

log = logging.getLogger(__name__)

CONFIG, LOCK = files.CONFIG, "lock"
"""Names of files in a session's folder. Those of answers, policy snapshots, metrics, log and summary are in their modules."""

_REMEDY = "put a copy of it back, or that of a session of the same task; the answers are not affected"
_MAX_CONFIG_BYTES = 4 << 20
"""Largest size of a config in bytes. It usually has about two thousand, and with an imported robot up to 3 MB."""


class Session:
    """The folder of one training run, locked by this process until `close`.

    before_finish: copy of the checkpoint with which a finish can be undone
    """

    def __init__(self, folder: Path, config: Config, lock: FileLock | None) -> None:
        """lock: lock of the folder; None for a session that is only read"""
        self.folder = folder.absolute()  # the diagnostics must recognize it in the log
        self.config = config
        self._lock = lock
        self._lock_identity = files.identity(folder / LOCK) if lock else None
        self.before_finish = BeforeFinish(self.folder / CHECKPOINTS)

    @staticmethod
    def create(folder: Path, config: Config) -> Session:
        """Create a session. Raises UserError if the folder already holds one, can't be created, or its disk is full."""
        if os.path.exists(folder / CONFIG):
            raise UserError(
                f"{folder} already holds a session: name another folder, or continue that session (--resume on the command line)."
            )
        files.require_empty(folder)
        task = get_task(config.task, config.true_reward)
        check_size_limits(config, task)
        resources.require_disk_space(folder, resources.GAME_DISK if task.pictures else resources.ROBOT_DISK)
        missing = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in missing:
                files.sync_folder(path.absolute().parent)
        except OSError as error:
            raise files.unwritable(folder, error) from error
        lock = acquire_lock(folder)
        try:
            PreferenceStore(folder / FOLDER).close()
            _write_config(folder, config)
        except UserError:
            lock.release()
            files.clear_away(folder / LOCK)  # the folder must be empty for the next attempt
            shutil.rmtree(folder / FOLDER, ignore_errors=True)
            raise
        return Session(folder, config, lock)

    @staticmethod
    def open(folder: Path) -> Session:
        """Open an existing session. Raises UserError if there is none, it is too large, or another program has it open."""
        return Session(folder, Session.read(folder).config, acquire_lock(folder))

    @staticmethod
    def read(folder: Path) -> Session:
        """Open an existing session for reading only; it may be in use, or on a read-only disk.

        Raises UserError if there is none, or if it is too large.
        """
        config = read_config(folder)
        check_size_limits(config, get_task(config.task, config.true_reward))
        return Session(folder, config, None)

    def store(self) -> PreferenceStore:
        """Open the preference store, once in each thread that needs it. Raises UserError if it is missing or damaged."""
        return PreferenceStore(require_answers(self.folder), require_owner=self._require_lock)

    def labels(self) -> int:
        """Return the number of preferences that count as labels. Raises UserError as `reader` does."""
        with contextlib.closing(self.reader()) as store:
            return store.count()

    def reader(self) -> PreferenceStore:
        """Open the store for reading only; another thread may write meanwhile. Raises UserError as `store` does."""
        return PreferenceStore(require_answers(self.folder), read_only=True)

    def reconfigure(self, **changes: Any) -> None:
        """Change values of the config, named as for `replaced`, and save it. Raises UserError if that fails."""
        config = replaced(self.config, **changes)
        self.require_folder()
        _write_config(self.folder, config)
        self.config = config

    def save(self, number: int, states: dict[str, JobState]) -> None:
        """Write a checkpoint. Raises UserError if that fails; a missing session folder is not created again."""
        self.require_folder()
        checkpoint.save_checkpoint(self.folder / CHECKPOINTS, number, states)

    def load(self, tell: Callable[[str], None] | None = None) -> tuple[int, dict[str, JobState]] | None:
        """Load the number and job states of the newest undamaged checkpoint; see `checkpoint.load_newest`."""
        return checkpoint.load_newest(self.folder / CHECKPOINTS, tell)

    def resume(self, tell: Callable[[str], None] = log.warning) -> tuple[int, dict[str, JobState]]:
        """Return the number and job states from which to continue training; (0, {}) to start with the answers alone.

        Training starts with the answers alone if there is no checkpoint, or if none can be read. Unreadable ones are then
        set aside, together with the earlier policies, which training would overwrite.

        tell: called with one sentence if a checkpoint was damaged, or files were set aside

        Raises UserError if the disk fails or the folder is gone.
        """
        files.require_session(self.folder)  # a missing folder would look like one without a checkpoint
        try:
            loaded = self.load(tell)
        except checkpoint.UnreadableError as error:
            log.info("%s", error)
            loaded = None
        if loaded is None:
            self._set_training_aside(tell)
            return 0, {}
        number, states = loaded
        request_publication(states)
        return number, states

    def _set_training_aside(self, tell: Callable[[str], None]) -> None:
        """Set aside checkpoints and policies that training from the start would overwrite, and report it."""
        snapshots, checkpoints = self.snapshots(), checkpoint.checkpoint_files(self.folder / CHECKPOINTS)
        if not checkpoints and snapshots.seconds() < 2 * INTERVAL:  # a crash before the first checkpoint loses little
            return
        self.require_folder()
        # In this order, so that after a failure the checkpoints are found again.
        set_aside(snapshots.files() + checkpoints)
        lack, files_aside = "There is no checkpoint", "earlier policies"
        if checkpoints:
            lack, files_aside = "No checkpoint could be used", "checkpoints and earlier policies"
        tell(f"{lack}, so training starts again with all answers; {files_aside} were set aside.")

    def undo_finish(self) -> None:
        """Make the checkpoint from before the finish the newest one. Raises UserError as `BeforeFinish.restore` does.

        When the restored policy is published, the snapshots of later policies are deleted.
        """
        self.require_folder()
        self.before_finish.restore()

    def snapshots(self) -> PolicySnapshots:
        return snapshots_of(self.folder, self.config)

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def require_folder(self) -> None:
        """Raise UserError if the folder of this open session is gone or was replaced by another one."""
        files.require_session(self.folder)
        self._require_lock()

    def _require_lock(self) -> None:
        """Raise UserError if the lock file was deleted or replaced. Windows doesn't allow that while it is open."""
        lock = self.folder / LOCK
        if os.name != "nt" and files.identity(lock) != self._lock_identity:
            raise UserError(
                f"{lock} was deleted or replaced while the session was open, so another Somersault may have opened "
                "the session too: close it and open it again."
            )


def set_aside(paths: Iterable[Path]) -> None:
    """Rename files so that they are neither loaded nor overwritten. Raises UserError if that fails."""
    for path in paths:
        try:
            path.replace(_name_aside(path))
        except OSError as error:
            raise files.unwritable(path, error) from error


def _name_aside(path: Path) -> Path:
    """Return an unused path to which a file is renamed when it is set aside."""
    free = first_free(lambda number: f"{path.stem}-{number}.unreadable", lambda name: (path.parent / name).exists())
    return path.with_name(free)


def training_files(folder: Path) -> list[Path]:
    """Return the checkpoints, policy snapshots and, if present, metrics file of the session in `folder`."""
    metrics = folder / metrics_file.NAME
    paths = [*checkpoint.checkpoint_files(folder / CHECKPOINTS), *PolicySnapshots(folder).files()]
    return [*paths, metrics] if metrics.is_file() else paths


def require_answers(folder: Path) -> Path:
    """Return the folder of the store of answers of the session in `folder`. Raises UserError if it is missing."""
    path = folder / FOLDER
    if not os.path.lexists(path / LOG):
        raise damaged(path, "is gone")
    return path


def read_config(folder: Path) -> Config:
    """Return the config of the session in `folder`.

    Raises UserError if it is missing or damaged, or if the folder contains a link, a pipe, a socket or a device.
    """
    require_plain(folder)
    path = folder / CONFIG
    try:
        values = json.loads(files.read_regular(path, _MAX_CONFIG_BYTES))
    except (FileNotFoundError, NotADirectoryError) as error:
        if os.path.lexists(folder / FOLDER / LOG):
            raise UserError(f"{path} is missing: {_REMEDY}.") from error
        raise UserError(f"{folder} is not a session: it has no {CONFIG}.") from error
    except PermissionError as error:
        raise UserError(f"{path} can't be read ({files.reason(error)}): check its permissions.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} can't be read ({files.reason(error)}): {_REMEDY}.") from error
    try:
        return Config.from_dict(values)
    except UserError as error:
        raise UserError(f"{path} can't be used: {error}") from error


def _write_config(folder: Path, config: Config) -> None:
    files.write_atomically(folder / CONFIG, json.dumps(config.to_dict(), indent=1).encode())


def acquire_lock(folder: Path) -> FileLock:
    """Lock the folder. Raises UserError if another program holds the lock.

    The operating system releases the lock when its owner dies, so it is never stale.
    """
    lock = FileLock(folder / LOCK, thread_local=False)  # a session may be opened in one thread and closed in another
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UserError(f"{folder} is open in another Somersault: close it there first.") from error
    except OSError as error:
        raise files.unwritable(folder / LOCK, error) from error
    return lock


def remove_session(folder: Path) -> None:
    """Delete a session. Raises UserError if another program has it open, or it can't be removed."""
    acquire_lock(folder).release()
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise UserError(f"{folder} can't be removed ({files.reason(error)}): {files.remedy(error)}.") from error
