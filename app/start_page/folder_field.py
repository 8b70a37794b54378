"""Where a new session is to be kept: a name that is proposed until the person gives one, and the folder it is in."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QPushButton, QWidget

from app.session.factory import slug
from app.style.labels import label


class FolderField(QWidget):
    """The folder, with a button to choose another. `name` is a field that the form places in a row of its own.

    Signals:
        edited(): the person changed one of them.
    """

    edited = Signal()

    def __init__(self, root: Path, parent: QWidget | None = None) -> None:
        """root: where sessions are usually kept."""
        super().__init__(parent)
        self._root, self._place, self._named = root, root, False
        self._taken: set[str] = set()
        self.name = QLineEdit()
        self.name.setAccessibleName("Name of the session's folder")
        self.name.textEdited.connect(self._on_named)
        self.where = label("settingHelp", wrap=True)
        self.other = QPushButton("Other folder…")
        self.other.setObjectName("small")
        self.other.clicked.connect(self._on_other_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.where, 1)
        row.addWidget(self.other)

    @property
    def folder(self) -> Path:
        return self._place / self.name.text().strip()

    @property
    def problem(self) -> str:
        """What is to be mended, in a sentence; '' where nothing is."""
        name = self.name.text().strip()
        if name in ("", ".", ".."):
            return "Give the session a name."
        return f"{name} is there already: give the session another name." if name in self._taken else ""

    def begin(self) -> None:
        """Forgets what was chosen for the session before."""
        self._named = False
        self._set_place(self._root)

    def propose(self, task: str) -> None:
        """A name after the task, unless the person has given one."""
        if not self._named:
            names = (f"{slug(task)}-{number}" for number in itertools.count(1))
            self.name.setText(next(name for name in names if name not in self._taken))

    def _set_place(self, folder: Path) -> None:
        """What is in it is looked up once, not at each key: a folder may be on a slow disk, or far away."""
        self._place = folder
        self._taken = set()
        with suppress(OSError):  # not made yet, or no place for a session: making one there tells of that
            self._taken = set(os.listdir(folder))
        self.where.setText(f"in {folder}")

    def _on_named(self) -> None:
        self._named = True
        self.edited.emit()

    def _on_other_requested(self) -> None:
        dialog = QFileDialog(self, "The folder to keep the session in", str(self._place))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._on_other_chosen)
        dialog.open()

    def _on_other_chosen(self, folder: str) -> None:
        self._set_place(Path(folder))
        self.edited.emit()
