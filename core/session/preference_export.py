"""Export of the answers of a session to a folder, and import of such a folder as a new session.

The folder has the session's config.json and a copy of its store of answers (docs/answers.md), without damaged answers.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from core.io import files
from core.preferences.store import FOLDER, Contents, PreferenceStore, Rescued, rescue
from core.session.compatibility import require_whole
from core.session.session import CONFIG, Session, read_config


def export_preferences(session: Session, target: Path) -> Rescued:
    """Copy all answers, including withdrawn ones, to a new or empty folder. Returns what could be copied.

    Raises UserError if no answer can be read, or if the folder can't be written.
    """
    with files.new_folder(target) as inside:
        (inside / CONFIG).write_text(json.dumps(session.config.to_dict(), indent=1))
        rescued = rescue(session.folder / FOLDER)
        write_store(rescued.contents, inside)
    return rescued


def import_preferences(source: Path, folder: Path) -> int:
    """Create an untrained session in `folder` with the answers in `source`, and return their number.

    source: a folder written by `export_preferences`, or a session

    Raises UserError, and leaves no folder, if an answer is damaged or does not fit the config.
    """
    config = read_config(source)
    with files.new_folder(folder) as inside:
        Session.create(inside, config).close()
        with closing(PreferenceStore(source / FOLDER, read_only=True)) as store:
            require_whole(store, config, "name a folder with undamaged answers about that task")
            write_store(store.snapshot(), inside)
            return len(store.rows())


def write_store(contents: Contents, session: Path) -> None:
    """Write the files of a store into the folder of a session."""
    (session / FOLDER).mkdir(exist_ok=True)
    for name, content in contents:
        (session / FOLDER / name).write_bytes(content)
