"""List of answers: choice, time, and a still of both clips."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.history.clip_cache import STILL, Stills
from app.history.preference_model import AGAINST, ROW, STILLS, TROUBLE, PreferenceModel
from app.history.preference_text import CHOICES, notes, when
from app.labelling.guests import name_of
from app.style import theme
from app.style.painting import LEFT, RIGHT, fitted, set_font, write_line
from core.formatting import capitalized
from core.preferences.store import PreferenceSummary

_MARGIN, _GAP = 10, 6
_HEIGHT = STILL + 2 * _MARGIN
_LINE = 24
"""Height of a line of text."""


class PreferenceList(QListView):
    """List view of the answers that paints only the rows on screen."""

    def __init__(self, model: PreferenceModel) -> None:
        super().__init__()
        self.setObjectName("answers")
        self.setAccessibleName("Answers")
        self.setModel(model)
        self.setItemDelegate(_Delegate(self))
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    @property
    def current(self) -> PreferenceSummary | None:
        index = self.currentIndex()
        return index.data(ROW) if index.isValid() else None


class _Delegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(360, _HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row: PreferenceSummary = index.data(ROW)
        area: QRect = option.rect
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.fillRect(area, QColor(theme.palette().checked if chosen else theme.palette().panel))
        painter.fillRect(QRect(area.left(), area.bottom(), area.width(), 1), QColor(theme.palette().line))
        inside = area.adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        trouble: str = index.data(TROUBLE)
        if trouble:
            set_font(painter, 13)
            painter.setPen(QColor(theme.palette().amber))
            painter.drawText(inside, int(Qt.TextFlag.TextWordWrap | LEFT), trouble)
        else:
            _draw_stills(painter, inside, index.data(STILLS))
            _write(painter, inside.adjusted(2 * STILL + _GAP + 16, 0, 0, 0), row, index.data(AGAINST))
        painter.restore()


def _draw_stills(painter: QPainter, area: QRect, stills: Stills | None) -> None:
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    for side in range(2):
        place = QRect(area.left() + side * (STILL + _GAP), area.top(), STILL, STILL)
        painter.fillRect(place, QColor(theme.palette().background))
        if stills:
            painter.drawPixmap(fitted(stills[side].size(), place), stills[side])


def _write(painter: QPainter, area: QRect, row: PreferenceSummary, against: float | None) -> None:
    muted = theme.palette().muted
    colour = muted if row.withdrawn else theme.palette().choice_colours[row.choice]
    first = QRect(area.left(), area.top(), area.width(), _LINE)
    set_font(painter, 15, bold=True, struck=row.withdrawn)
    write_line(painter, first, CHOICES[row.choice], colour)
    set_font(painter, 13)
    write_line(painter, first, f"{row.id}", muted, RIGHT)
    write_line(painter, first.translated(0, _LINE), f"{when(row)}  ·  {name_of(row.labeller)}", muted)
    remarks = ", ".join(notes(row, against))
    write_line(painter, first.translated(0, 2 * _LINE), capitalized(remarks), theme.palette().text)
