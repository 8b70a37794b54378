"""The answers as a list for views: light rows, and pictures only of what is on screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.history.clip_cache import ClipCache, Stills
from app.history.preference_text import PreferenceFilter, sentence
from app.style.labels import tip
from core.preferences.records import PreferenceSummary
from core.preferences.review import contradicted

ROW = int(Qt.ItemDataRole.UserRole)
"""The AnswerRow."""
AGAINST = ROW + 1
"""How much the predictor contradicts it, in a list of doubted answers; otherwise None."""
STILLS = ROW + 2
"""The pictures of both clips, None while they are not drawn. Asking for them has them drawn."""
TROUBLE = ROW + 3
"""Why it can't be shown, in one sentence; '' where it can."""
_Index = QModelIndex | QPersistentModelIndex


class PreferenceModel(QAbstractListModel):
    """Newest first; or, given what the predictor thinks, the answers that it doubts, the most doubted first.

    An answer that is changed while it is in the list stays in it, so that it doesn't vanish under the person's eyes.
    """

    def __init__(self, album: ClipCache, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._album = album
        self._rows: dict[int, PreferenceSummary] = {}
        self._shown: list[int] = []
        self._against: dict[int, float] | None = None
        self._sieve = PreferenceFilter()
        album.stills_drawn.connect(self._on_pictured)
        album.trouble_found.connect(self._on_pictured)

    @property
    def rows(self) -> Iterable[PreferenceSummary]:
        """Every answer, shown or not, in the order given."""
        return self._rows.values()

    def set_rows(self, rows: Iterable[PreferenceSummary]) -> None:
        self._rows = {row.id: row for row in rows}
        self.list_all(self._sieve)

    def list_all(self, sieve: PreferenceFilter) -> None:
        self.beginResetModel()
        self._sieve, self._against = sieve, None
        self._shown = [row.id for row in reversed(self._rows.values()) if sieve.passes(row)]
        self.endResetModel()

    def list_doubted(self, left: Mapping[int, float]) -> None:
        """left: P[left is preferred] by number of the answer."""
        found = contradicted(self._rows.values(), left)
        self.beginResetModel()
        self._against = {row.id: much for row, much in found}
        self._shown = list(self._against)
        self.endResetModel()

    def take(self, row: PreferenceSummary) -> None:
        """A new answer, or one that has changed or stands again."""
        self._rows[row.id] = row
        if row.id in self._shown:
            self._tell_changed(row.id)
        elif self._against is None and self._sieve.passes(row):
            place = sum(key > row.id for key in self._shown)
            self.beginInsertRows(QModelIndex(), place, place)
            self._shown.insert(place, row.id)
            self.endInsertRows()

    def index_of(self, key: int) -> QModelIndex:
        """Where the answer of that number is; an invalid index where it is not shown."""
        return self.index(self._shown.index(key)) if key in self._shown else QModelIndex()

    def row(self, key: int) -> PreferenceSummary:
        return self._rows[key]

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self._rows[self._shown[index.row()]]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.AccessibleTextRole:
                return sentence(row, self._contradiction(row.id))
            case Qt.ItemDataRole.ToolTipRole:
                return tip(self._trouble(row)) or None
            case _ if role == ROW:
                return row
            case _ if role == AGAINST:
                return self._contradiction(row.id)
            case _ if role == TROUBLE:
                return self._trouble(row)
            case _ if role == STILLS:
                return self._stills(row)
        return None

    def _contradiction(self, key: int) -> float | None:
        return None if self._against is None else self._against[key]

    def _trouble(self, row: PreferenceSummary) -> str:
        return self._album.troubles.get(row.id, "")

    def _stills(self, row: PreferenceSummary) -> Stills | None:
        return self._album.stills(row.id)

    def _on_pictured(self, key: int) -> None:
        self._tell_changed(key)

    def _tell_changed(self, key: int) -> None:
        index = self.index_of(key)
        if index.isValid():
            self.dataChanged.emit(index, index)
