"""What is done with the sessions' folders: listed, opened, made, copied, thrown away. In threads; no widgets."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QFile, QObject, Signal
from PySide6.QtGui import QImage

from app import settings
from app.session.factory import created, fresh, with_store
from app.workers.background_thread import BackgroundThread
from core.config import Config
from core.errors import UserError
from core.session import library, summary
from core.session.archive import import_session
from core.session.session import Session

log = logging.getLogger(__name__)
_LIST, _OPEN, _CHANGE, _PICTURE = "list", "open", "change", "picture "
_TOLD_SHARES = 20
_ELSEWHERE, _REMEMBERED = "start page/elsewhere", 50


class SessionLibrary(QObject):
    """One folder of sessions. What is asked for is done in order; listing goes on meanwhile.

    Signals:
        listed(object): every session, a list of Entry, the last opened first.
        picture_found(str, object): the last picture of the session in this folder, a QImage.
        opened(object): the Session, which is locked from now on.
        changed(str, object): something was done; one sentence, and the folder it made, or None.
        progressed(str): what is being done, in a few words, and how far it is.
        refused(str): something could not be done, and nothing was changed; one sentence.
    """

    listed = Signal(object)
    picture_found = Signal(str, object)
    opened = Signal(object)
    changed = Signal(str, object)
    progressed = Signal(str)
    refused = Signal(str)

    def __init__(
        self, root: Path, to_trash: Callable[[str], bool] | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.root = root
        self._to_trash = to_trash or _moved_to_trash
        self._looking, self._working = BackgroundThread(self), BackgroundThread(self)
        for thread in (self._looking, self._working):
            thread.task_done.connect(self._on_done)
            thread.task_refused.connect(self._on_refused)
            thread.start()

    def refresh(self) -> None:
        """`listed` follows."""
        others = elsewhere()
        self._looking.do(lambda: library.sessions(self.root, others), _LIST)

    def find_picture(self, folder: Path) -> None:
        """`picture_found` follows where there is one."""
        self._looking.do(lambda: _picture(folder), f"{_PICTURE}{folder}")

    def open(self, folder: Path) -> None:
        """`opened` or `refused` follows."""
        self.progressed.emit(f"Opening {folder.name} …")
        self._working.do(lambda: with_store(Session.open(folder)), _OPEN)

    def create(self, folder: Path, config: Config) -> None:
        """`opened` or `refused` follows."""
        self.progressed.emit(f"Making {folder.name} …")
        self._working.do(lambda: created(folder, config), _OPEN)

    def duplicate(self, folder: Path) -> None:
        """`changed` or `refused` follows."""
        self._working.do(lambda: self._duplicate(folder), _CHANGE)

    def throw_away(self, folder: Path) -> None:
        """Moves the session to the desktop's trash, or leaves it where it is; `changed` or `refused` follows."""
        self._working.do(lambda: self._throw_away(folder), _CHANGE)

    def bring_in(self, source: Path) -> None:
        """Makes a session of an exported one; `changed` or `refused` follows."""
        self.progressed.emit(f"Importing {source.name} …")
        self._working.do(lambda: self._bring_in(source), _CHANGE)

    def close(self) -> None:
        """Blocks until what was asked for is done."""
        for thread in (self._looking, self._working):
            thread.end()
            thread.wait()

    def _remember(self, folder: Path) -> None:
        """A session that is kept elsewhere would not be found again."""
        if folder.parent != self.root:
            known = [path for path in elsewhere() if path != folder][: _REMEMBERED - 1]
            settings.keep(_ELSEWHERE, "\n".join(map(str, [folder, *known])))

    def _duplicate(self, folder: Path) -> tuple[str, Path]:
        target, told = fresh(self.root, f"{folder.name}-copy"), -1

        def tell(share: float) -> None:
            nonlocal told
            if int(share * _TOLD_SHARES) != told:
                told = int(share * _TOLD_SHARES)
                self.progressed.emit(f"Copying {folder.name}: {share:.0%}")

        tell(0.0)
        library.duplicate(folder, target, tell)
        return f"{target.name} is a copy of {folder.name}.", target

    def _throw_away(self, folder: Path) -> tuple[str, None]:
        library.require_free(folder)
        if not self._to_trash(str(folder)):
            raise UserError(
                f"{folder.name} is kept, as this system offers no trash for it: delete {folder} yourself if you must."
            )
        return f"{folder.name} is in the trash of your desktop, and can be brought back from there.", None

    def _bring_in(self, source: Path) -> tuple[str, Path]:
        target = self.root / source.stem
        if target.exists():
            target = fresh(self.root, source.stem)
        import_session(source, target)
        return f"{target.name} is imported.", target

    def _on_done(self, name: str, result: Any) -> None:
        if name == _LIST:
            self.listed.emit(result)
        elif name == _OPEN:
            self._remember(result.folder)
            self.opened.emit(result)
        elif name == _CHANGE:
            self.changed.emit(*result)
            self.refresh()
        elif result is not None:
            self.picture_found.emit(name.removeprefix(_PICTURE), result)

    def _on_refused(self, name: str, sentence: str) -> None:
        if name.startswith(_PICTURE):
            log.warning("%s: %s", name, sentence)
        else:
            self.refused.emit(sentence)


def elsewhere() -> list[Path]:
    """Sessions that were opened and are not in the usual folder, the newest first."""
    return [Path(line) for line in settings.text(_ELSEWHERE).splitlines()]


def _picture(folder: Path) -> QImage | None:
    image = QImage(str(folder / summary.PICTURE))
    return None if image.isNull() else image


def _moved_to_trash(path: str) -> bool:
    return bool(QFile.moveToTrash(path)[0])
