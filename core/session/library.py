"""List of the sessions in a folder, and copies of sessions."""

import logging
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from core.config import Config
from core.errors import UserError
from core.io import files
from core.preferences.store import FOLDER, LOG, PreferenceStore, PreferenceSummary
from core.session import summary
from core.session.policy_snapshots import PolicySnapshots
from core.session.session import CONFIG, Session, read_config, require_answers, training_files
from core.session.summary import Summary
from core.types import GUEST, Teacher
from core.voting import record

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SessionEntry:
    """Session in a list. problem: a sentence that says why it can't be opened, or ''"""

    folder: Path
    summary: Summary | None
    changed_at: float
    """Time of last use or, if that is unknown, of the last change of its folder, in seconds since the epoch."""
    problem: str = ""


def sessions(root: Path, elsewhere: Iterable[Path] = ()) -> list[SessionEntry]:
    """Return the sessions in the folder `root`, including unreadable ones, last used first.

    elsewhere: sessions in other folders, which are listed if they exist

    Raises UserError if `root` can't be read.
    """
    folders = [path for path in elsewhere if os.path.isdir(path) and path.parent != root]
    try:
        folders += [path for path in root.iterdir() if os.path.isdir(path) and not path.name.endswith(".part")]
    except FileNotFoundError:
        pass  # the first session creates the folder
    except OSError as error:
        raise UserError(f"{root} can't be read ({files.reason(error)}): check its permissions.") from error
    return sorted(map(entry, folders), key=lambda found: found.changed_at, reverse=True)


def entry(folder: Path) -> SessionEntry:
    """Return the entry of a session, from its summary or, without one, from its config and the log of its answers."""
    try:
        changed = folder.stat().st_mtime
    except OSError as error:
        return SessionEntry(folder, None, 0.0, f"{folder.name} can't be read ({files.reason(error)}).")
    try:
        config = read_config(folder)  # a session with a summary may still be damaged
        require_answers(folder)
        found = summary_of(folder, config, changed)
    except UserError as error:
        return SessionEntry(folder, None, changed, str(error))
    return SessionEntry(folder, found, found.used_at)


def summary_of(folder: Path, config: Config, used_at: float = 0.0) -> Summary:
    """Return the summary of a session or, if it can't be read, one derived from config and answers, without best figure.

    Answers are counted again if the last ones are newer than the summary, as after a crash.

    used_at: time of last use of a session without a summary, in seconds since the epoch

    Raises UserError if its answers are damaged.
    """
    try:
        found = summary.read(folder)
        outdated = found and os.stat(folder / FOLDER / LOG).st_mtime > os.stat(folder / summary.NAME).st_mtime
    except (UserError, OSError) as error:  # the session itself may be undamaged
        log.info("%s", error)
        found = None
    if found and not outdated:
        return found
    derived = derived_summary(folder, config, used_at)
    return replace(found, labels=derived.labels) if found else derived


def derived_summary(folder: Path, config: Config, used_at: float) -> Summary:
    """Return a summary for a session without one; its best figure is None. Raises UserError if the store is damaged."""
    with closing(PreferenceStore(require_answers(folder), read_only=True)) as read:
        labels = read.labels()
    steps = max(PolicySnapshots(folder).env_steps(), default=0)
    return Summary(config.task, teacher_of(labels, config), len(labels), steps, "", None, used_at)


def teacher_of(labels: Sequence[PreferenceSummary], config: Config) -> Teacher:
    """Return the teacher who gave the newest of a session's labels, guests excluded, or else the one in its config.

    The latter also if the session has only labels taken over from another one.
    """
    own = [row.labeller for row in labels if not row.labeller.startswith(GUEST)]
    if not own or sum(row.choice.usable for row in labels) <= config.query.taken:
        return Teacher(config.teacher)
    return Teacher(own[-1]) if own[-1] in (Teacher.ORACLE, Teacher.PERSON) else Teacher.HUMAN


def duplicate(source: Path, target: Path, tell: Callable[[float], None] = lambda share: None) -> None:
    """Copy the session `source` to `target`, which must be empty or not exist; after an error no copy is left.

    tell: called after each file with the share of the bytes that has been copied

    Raises UserError if another program has the session open, if its list of answers is damaged, or if it can't be copied.
    """
    with closing(Session.open(source)) as session, files.new_folder(target) as inside:
        session.store().close()
        others = [source / name for name in (CONFIG, summary.NAME, summary.PICTURE, record.NAME)]
        listed = (*others, *training_files(source), *require_answers(source).iterdir())
        sizes = {path: path.stat().st_size for path in listed if path.is_file()}
        whole, copied = max(1, sum(sizes.values())), 0
        for path, size in sizes.items():
            there = inside / path.relative_to(source)
            there.parent.mkdir(exist_ok=True)
            shutil.copy2(path, there)
            copied += size
            tell(copied / whole)
