"""The folder of sessions: list, open, create, duplicate, import and delete them, in threads. No widgets."""

import os
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from app import settings
from app.session.factory import check_session, create_session, folder_name, new_folder, start_over, task_title
from app.style.images import decoded
from app.workers import trash
from app.workers.background_thread import BackgroundThread
from app.workers.trash import Trashed
from core.config import Config
from core.errors import UserError
from core.io import files
from core.session import library, summary
from core.session.archive import import_session
from core.session.session import CONFIG, Session, acquire_lock, remove_session
from core.session.taking import Beginning
from core.types import Choice, Query, Teacher

_PROGRESS_STEPS = 20
_ELSEWHERE, _MAX_ELSEWHERE = "start page/elsewhere", 50


class SessionLibrary(QObject):
    """One folder of sessions. Requests are carried out in order, each ending in a signal; listing has its own thread.

    Signals:
        listed(object): all sessions, a list of SessionEntry, the most recently used first.
        names_listed(object, object): a folder, and the names in it, a set of str; empty if it can't be read.
        picture_found(object, object): folder of a session, and its picture, a QImage.
        opened(object): the Session, locked.
        changed(str, object): a request succeeded; one sentence, and the folder that it created, or None.
        moved_to_trash(object): a session is in the trash; its Trashed.
        progressed(str): the request under way and its progress.
        not_opened(str): no session was opened or created; one sentence.
        refused(str): any other request failed and nothing was changed; one sentence.
    """

    listed = Signal(object)
    names_listed = Signal(object, object)
    picture_found = Signal(object, object)
    opened = Signal(object)
    changed = Signal(str, object)
    moved_to_trash = Signal(object)
    progressed = Signal(str)
    not_opened = Signal(str)
    refused = Signal(str)

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self._leaving: set[Path] = set()
        """Sessions on their way to the trash, or there and still in the list."""
        self._closed = threading.Event()
        self._list_thread, self._work_thread = BackgroundThread(self), BackgroundThread(self)

    def refresh(self) -> None:
        self._list_thread.do(lambda: library.sessions(self.root, elsewhere()), self._on_listed, self.refused.emit)

    def list_names(self, folder: Path) -> None:
        self._list_thread.do(lambda: _names_in(folder), partial(self.names_listed.emit, folder))

    def find_picture(self, folder: Path) -> None:
        self._list_thread.do(lambda: _picture(folder / summary.PICTURE), partial(self._on_picture_read, folder))

    def open(self, folder: Path) -> None:
        self.progressed.emit(f"Opening {folder.name}…")
        self._work_thread.do(lambda: check_session(Session.open(folder)), self._on_opened, self._on_not_opened)

    def create(
        self,
        config: Config,
        folder: Path | None = None,
        begin_from: Beginning | None = None,
        answers: Sequence[tuple[Query, Choice]] = (),
    ) -> None:
        """Create a session. folder: None for a new one, named after the task; answers: the person's, to begin with"""
        self.progressed.emit(f"Creating {folder.name if folder else f'a session for {task_title(config)}'}…")
        create = partial(self._create, config, folder, begin_from, answers)
        self._work_thread.do(create, self._on_opened, self._on_not_opened)

    def start_over(self, folder: Path) -> None:
        """Create a session with the settings and answers of the one in `folder`, and a new policy."""
        self.progressed.emit(f"Starting over with the answers of {folder.name}…")
        self._work_thread.do(lambda: start_over(folder, self.root), self._on_opened, self._on_not_opened)

    def duplicate(self, folder: Path) -> None:
        self._work_thread.do(lambda: self._duplicate(folder), self._on_changed, self._on_refused)

    def move_to_trash(self, folder: Path) -> None:
        """Move a session to the trash; ignored if that was requested before and the session is still in the list."""
        if folder not in self._leaving:
            self._leaving.add(folder)
            self._work_thread.do(
                lambda: _move_to_trash(folder), self._on_moved_to_trash, partial(self._on_not_moved_to_trash, folder)
            )

    def restore(self, trashed: Trashed) -> None:
        """Undo `move_to_trash`."""
        self._leaving.discard(trashed.original)
        self._work_thread.do(lambda: _restore(trashed), self._on_changed, self.refused.emit)

    def import_file(self, source: Path) -> None:
        self.progressed.emit(f"Importing {source.name}…")
        self._work_thread.do(lambda: self._import(source), self._on_changed, self.refused.emit)

    def close(self) -> None:
        """End the threads; block until all requests are done. Asking for the rate of an environment is cancelled."""
        self._closed.set()
        for thread in (self._list_thread, self._work_thread):
            thread.close()

    def _create(
        self,
        config: Config,
        folder: Path | None,
        begin_from: Beginning | None,
        answers: Sequence[tuple[Query, Choice]],
    ) -> Session:
        target = folder or new_folder(self.root, folder_name(config))
        session = create_session(target, config, begin_from, self._closed.is_set)
        try:
            with closing(session.store()) as store:
                for query, choice in answers:
                    store.add(query, choice, Teacher.HUMAN)
        except BaseException:
            session.close()
            remove_session(session.folder)
            raise
        return session

    def _duplicate(self, folder: Path) -> tuple[str, Path]:
        target, last_step = new_folder(self.root, f"{folder.name}-copy"), -1

        def report(share: float) -> None:
            nonlocal last_step
            if int(share * _PROGRESS_STEPS) != last_step:
                last_step = int(share * _PROGRESS_STEPS)
                self.progressed.emit(f"Duplicating {folder.name}: {share:.0%}")

        report(0.0)
        library.duplicate(folder, target, report)
        return f"Duplicated {folder.name} as {target.name}.", target

    def _import(self, source: Path) -> tuple[str, Path]:
        name = source.stem.removesuffix(".part") or "session"  # folders that end in .part are not listed
        target = self.root / name
        if target.exists():
            target = new_folder(self.root, name)
        import_session(source, target)
        return f"Imported {target.name}.", target

    def _on_listed(self, entries: list[library.SessionEntry]) -> None:
        self._leaving &= {entry.folder for entry in entries}
        self.listed.emit(entries)

    def _on_picture_read(self, folder: Path, picture: QImage) -> None:
        if not picture.isNull():
            self.picture_found.emit(folder, picture)

    def _on_opened(self, session: Session) -> None:
        keep_listed(session.folder, self.root)
        self.opened.emit(session)

    def _on_not_opened(self, sentence: str) -> None:
        self.not_opened.emit(sentence)
        self.refresh()

    def _on_refused(self, sentence: str) -> None:
        """Report the refusal, and refresh the list, which may show a session that is gone."""
        self.refused.emit(sentence)
        self.refresh()

    def _on_not_moved_to_trash(self, folder: Path, sentence: str) -> None:
        self._leaving.discard(folder)
        self._on_refused(sentence)

    def _on_moved_to_trash(self, trashed: Trashed) -> None:
        self.moved_to_trash.emit(trashed)
        self.refresh()

    def _on_changed(self, change: tuple[str, Path | None]) -> None:
        self.changed.emit(*change)
        self.refresh()


def keep_listed(folder: Path, root: Path) -> None:
    """Add this session to the list of those outside `root`, if it is one, so that it stays listed."""
    if folder.parent != root:
        others = [path for path in _known_elsewhere() if path != folder][: _MAX_ELSEWHERE - 1]
        settings.keep(_ELSEWHERE, "\n".join(map(str, [folder, *others])))


def elsewhere() -> list[Path]:
    """Return the folders of opened sessions outside the usual folder, newest first; those that are gone are left out.

    Looks at the disk, which may be slow.
    """
    return [folder for folder in _known_elsewhere() if files.is_session(folder)]


def _known_elsewhere() -> list[Path]:
    """Return the folders of opened sessions outside the usual folder, also on disks that are not connected."""
    return [Path(line) for line in settings.text(_ELSEWHERE).splitlines()]


def _names_in(folder: Path) -> set[str]:
    with suppress(OSError):  # does not exist yet, or is unusable: creating the session reports that
        return set(os.listdir(folder))
    return set()


def _picture(path: Path) -> QImage:
    """Read a picture; a null one if there is none or it can't be read."""
    try:
        return decoded(files.read_regular(path, summary.MAX_PICTURE))
    except OSError:
        return QImage()


def _move_to_trash(folder: Path) -> Trashed:
    inside = next((path.parent for path in folder.rglob(CONFIG) if path.parent != folder), None)
    if inside is not None:
        raise UserError(f"{folder.name} contains another session, {inside}: move that one out first.")
    if not os.path.isdir(folder):
        raise UserError(f"There is no session in {folder} any more.")
    acquire_lock(folder).release()  # no program may have it open
    return trash.move_to_trash(folder, folder.name)


def _restore(trashed: Trashed) -> tuple[str, Path]:
    trash.restore(trashed)
    return f"Restored {trashed.name}.", trashed.original
