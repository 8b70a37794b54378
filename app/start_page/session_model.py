"""Model of the session list: entries, their texts, and thumbnails that are loaded when a row becomes visible."""

from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from app.labelling.true_reward_visibility import hides_true_reward
from app.style.labels import tip
from core.errors import UserError
from core.formatting import format_number, pluralize
from core.session.library import SessionEntry
from core.session.summary import Summary
from core.tasks import get_task
from core.tasks.base import RobotTask

ENTRY = Qt.ItemDataRole.UserRole
Index = QModelIndex | QPersistentModelIndex


def title(summary: Summary) -> str:
    try:
        return get_task(summary.task).title
    except UserError:
        return f"{summary.task:.60}"


def shows_best(summary: Summary) -> bool:
    """Return True if the list shows the session's best value: it has answers, and its measure is not hidden.

    A behaviour without a measure of its own shows none, as more of its first plot need not be better.
    """
    if summary.best is None or not summary.labels:
        return False  # a chance success of an untrained policy is no result
    try:
        task = get_task(summary.task)
    except UserError:
        return False
    ranks = not isinstance(task, RobotTask) or task.behaviour is None or task.behaviour.measure is not None
    return ranks and not (task.has_true_reward and hides_true_reward(summary.teacher))


def figures(summary: Summary) -> str:
    """Best value of the task's measure, or the number of steps where it is unknown or hidden."""
    if summary.best is None or not shows_best(summary):
        if summary.env_steps:
            return f"{summary.env_steps:,} steps"
        return "" if summary.labels else "Not trained yet"  # the steps of an imported session may be unknown
    return f"Best {format_number(summary.best)}  ·  {summary.measure_title}"


class SessionModel(QAbstractListModel):
    """Entries and their thumbnails.

    Signals:
        picture_requested(object): folder of a visible session whose thumbnail is not loaded yet.
    """

    picture_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries: list[SessionEntry] = []
        self.pictures: dict[Path, QImage | None] = {}
        self._of_tasks: dict[str, QImage] = {}

    def set_entries(self, entries: list[SessionEntry]) -> None:
        self.beginResetModel()
        self.entries = entries
        self.pictures = {}
        self.endResetModel()

    def set_picture(self, folder: Path, picture: QImage) -> None:
        self.pictures[folder] = picture
        for row, entry in enumerate(self.entries):
            if entry.folder == folder:
                self.dataChanged.emit(self.index(row), self.index(row))

    def set_task_picture(self, task: str, picture: QImage) -> None:
        """Set the picture for sessions of this task without a thumbnail of their own."""
        self._of_tasks[task] = picture
        if self.entries:
            self.dataChanged.emit(self.index(0), self.index(len(self.entries) - 1))

    def picture(self, entry: SessionEntry) -> QImage | None:
        """Thumbnail of the session, else picture of its task; None if neither is loaded."""
        if entry.folder not in self.pictures:
            self.pictures[entry.folder] = None
            self.picture_requested.emit(entry.folder)
        task = entry.summary.task if entry.summary else ""
        return self.pictures[entry.folder] or self._of_tasks.get(task)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        entry = self.entries[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return entry.folder.name
            case Qt.ItemDataRole.AccessibleTextRole:
                return _spoken(entry)
            case Qt.ItemDataRole.ToolTipRole:
                return tip(entry.problem or str(entry.folder))
            case _ if role == ENTRY:
                return entry
        return None


def _spoken(entry: SessionEntry) -> str:
    if entry.summary is None:
        return f"{entry.folder.name}, can't be opened: {entry.problem}"
    summary = entry.summary
    return f"{entry.folder.name}, {title(summary)}, {pluralize(summary.labels, 'answer')}, {figures(summary)}"
