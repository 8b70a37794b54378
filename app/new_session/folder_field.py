"""Name and parent folder of a new session; a name is proposed until one is typed."""

import re
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from app.style.file_dialog import ask_for_folder
from app.style.labels import label
from app.style.layouts import row
from core.formatting import first_free, slug

_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
"""Characters that the name of a folder can't have, here or on another system to which the session may be moved."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices."""
_LONGEST = 100
_WIDTH = 640
"""Maximum width in pixels, so that the button stays near the folder that it changes."""


class FolderField(QWidget):
    """Parent folder with a button to choose another. `name` is a separate field, placed by the form.

    Signals:
        edited(): the name or the folder was changed.
        names_requested(object): the names in this folder are needed; call `set_taken` with them.
    """

    edited = Signal()
    names_requested = Signal(object)

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root, self._parent, self._task, self._is_named = root, root, "", False
        self._taken: set[str] = set()
        self.name = QLineEdit()
        self.name.setAccessibleName("Name of the session folder")
        self.name.textEdited.connect(self._on_named)
        self.where = label("settingHelp", wrap=True)
        self.other = QPushButton("Other folder…")
        self.other.setObjectName("small")
        self.other.clicked.connect(
            lambda: ask_for_folder(self, "Folder for the session", self._parent, self._on_other_chosen)
        )
        self.setMaximumWidth(_WIDTH)
        row((self.where, 1), self.other, of=self)

    @property
    def path(self) -> Path:
        return self._parent / self.name.text().strip()

    @property
    def problem(self) -> str:
        """Sentence about what is wrong with the name; '' if nothing is."""
        name = self.name.text().strip()
        if not name:
            return "Give the session a name."
        if found := _FORBIDDEN.search(name):
            shown = found.group() if found.group().isprintable() else "a tab or another invisible character"
            return f"A name can't contain {shown}: it is also the name of the session's folder."
        if name[0] == "." or name[-1] == "." or name.endswith(".part"):
            return "A name can't begin or end with a full stop, or end with .part."
        if _RESERVED.fullmatch(name):
            return f"A name can't be {name}, which Windows keeps for a device."
        if len(name) > _LONGEST:
            return f"A name can't be longer than {_LONGEST} characters."
        return f"{name} already exists: give the session another name." if name in self._taken else ""

    def reset(self) -> None:
        """Forget the name and folder chosen for the previous session."""
        self._is_named = False
        self._set_parent(self._root)

    def refresh(self) -> None:
        """Look at the folder again."""
        self._set_parent(self._parent)
        self.propose(self._task)

    def propose(self, task: str) -> None:
        """Name the session after the task, unless a name was typed."""
        self._task = task
        if not self._is_named:
            self.name.setText(first_free(lambda number: f"{slug(task)}-{number}", self._taken.__contains__))

    def set_taken(self, folder: Path, names: set[str]) -> None:
        """Set the names in a folder; ignored if another folder has been chosen since they were requested."""
        if folder == self._parent and names != self._taken:
            self._taken = names
            self.propose(self._task)
            self.edited.emit()

    def _set_parent(self, folder: Path) -> None:
        """Have the folder listed once, not at each key press: it may be on a slow or remote disk."""
        if folder != self._parent:
            self._taken = set()
        self._parent = folder
        self.where.setText(f"in {folder}")
        self.names_requested.emit(folder)

    def _on_named(self) -> None:
        self._is_named = True
        self.edited.emit()

    def _on_other_chosen(self, folder: Path) -> None:
        self._set_parent(folder)
        self.propose(self._task)
        self.edited.emit()
