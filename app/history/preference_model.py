"""List model of the answers. Rows are light; stills are rendered only for rows on screen."""

from collections.abc import Iterable, Mapping
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.history.clip_cache import ClipCache
from app.history.preference_text import PreferenceFilter, sentence
from app.style.labels import tip
from core.preferences.review import contradicted, contradiction
from core.preferences.store import PreferenceSummary

ROW = int(Qt.ItemDataRole.UserRole)
"""The PreferenceSummary."""
AGAINST = ROW + 1
"""Strength of the predictor's contradiction, 0 to 1; None unless disagreements are listed."""
STILLS = ROW + 2
"""Stills of both clips. None until they are rendered; reading this role requests them."""
TROUBLE = ROW + 3
"""Reason why the answer can't be shown, one sentence; '' if it can."""
_Index = QModelIndex | QPersistentModelIndex


class PreferenceModel(QAbstractListModel):
    """All answers, newest first; or those that the predictor contradicts, the strongest disagreement first.

    A listed answer stays in the list when it is changed.
    """

    def __init__(self, cache: ClipCache, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._cache = cache
        self._rows: dict[int, PreferenceSummary] = {}
        self._shown: list[int] = []
        self._left: Mapping[int, float] | None = None
        """P[left is preferred] by the answer's id; None unless disagreements are listed."""
        self._filter = PreferenceFilter()
        cache.stills_drawn.connect(self._emit_changed)
        cache.trouble_found.connect(self._emit_changed)

    @property
    def rows(self) -> Iterable[PreferenceSummary]:
        """Every answer, shown or not, in the order given."""
        return self._rows.values()

    def set_rows(self, rows: Iterable[PreferenceSummary]) -> None:
        self._rows = {row.id: row for row in rows}
        self.list_all(self._filter)

    def list_all(self, preference_filter: PreferenceFilter) -> None:
        self.beginResetModel()
        self._filter, self._left = preference_filter, None
        self._shown = [row.id for row in reversed(self._rows.values()) if preference_filter.passes(row)]
        self.endResetModel()

    def list_disagreements(self, left: Mapping[int, float]) -> None:
        """left: P[left is preferred] by the answer's id"""
        self.beginResetModel()
        self._left = left
        self._shown = [row.id for row, _ in contradicted(self._rows.values(), left)]
        self.endResetModel()

    def set_row(self, row: PreferenceSummary) -> None:
        """Add a new answer, or replace one that has changed."""
        self._rows[row.id] = row
        if row.id in self._shown:
            self._emit_changed(row.id)
        elif self._left is None and self._filter.passes(row):
            place = sum(key > row.id for key in self._shown)
            self.beginInsertRows(QModelIndex(), place, place)
            self._shown.insert(place, row.id)
            self.endInsertRows()

    def index_of(self, key: int) -> QModelIndex:
        """Return the index of the answer with this id; an invalid one if it is not shown."""
        return self.index(self._shown.index(key)) if key in self._shown else QModelIndex()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self._rows[self._shown[index.row()]]
        against = None if self._left is None else contradiction(row.choice, self._left[row.id])
        trouble = self._cache.troubles.get(row.id, "")
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.AccessibleTextRole:
                return sentence(row, against)
            case Qt.ItemDataRole.ToolTipRole:
                return tip(trouble) or None
            case _ if role == ROW:
                return row
            case _ if role == AGAINST:
                return against
            case _ if role == TROUBLE:
                return trouble
            case _ if role == STILLS:
                return self._cache.stills(row.id)
        return None

    def _emit_changed(self, key: int) -> None:
        index = self.index_of(key)
        if index.isValid():
            self.dataChanged.emit(index, index)
