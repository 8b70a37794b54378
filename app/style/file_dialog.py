"""Dialogs that ask for a file or folder without blocking, and call `then` with the chosen path."""

import weakref
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

Then = Callable[[Path], object]
_KINDS = {
    ".mp4": "Videos",
    ".zip": "Zip files",
    ".png": "Pictures",
    ".svg": "Drawings",
    ".csv": "Tables",
    ".somersault": "Sessions",
    ".onnx": "ONNX files",
    ".json": "Behaviours",
}
"""Names of the kinds of files, by suffix."""


def ask_for_file(parent: QWidget, title: str, name: str, then: Then) -> None:
    """Ask for a file to write; `name` is proposed, and its ending is added to a name without one."""
    dialog = QFileDialog(parent, title, str(Path.home() / name))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setLabelText(QFileDialog.DialogLabel.LookIn, "Save in:")
    ending = Path(name).suffix
    if ending in _KINDS:  # else it is a folder
        dialog.setNameFilters([f"{_KINDS[ending]} (*{ending})", "All files (*)"])
        dialog.setDefaultSuffix(ending)

    owner = weakref.ref(parent)  # which might otherwise be deleted by its own dialog's end

    def complete(chosen: Path) -> None:
        """Add the ending that Qt does not add to a name with a full stop; ask again if there is a file of that name."""
        if ending in _KINDS and chosen.suffix.lower() != ending:
            chosen = chosen.with_name(chosen.name + ending)
            if chosen.exists():
                if (window := owner()) is not None:
                    ask_for_file(window, title, str(chosen), then)
                return
        then(chosen)

    dialog.selectFile(name)
    _open(dialog, complete)


def ask_for_file_to_open(parent: QWidget, title: str, start: Path, kinds: str, then: Then) -> None:
    """Ask for an existing file. kinds: name filters in Qt's form."""
    dialog = QFileDialog(parent, title, str(start), kinds)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    _open(dialog, then)


def ask_for_folder(parent: QWidget, title: str, start: Path, then: Then) -> None:
    dialog = QFileDialog(parent, title, str(start))
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    _open(dialog, then)


def _open(dialog: QFileDialog, then: Then) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(lambda chosen: then(Path(chosen)))
    dialog.open()
