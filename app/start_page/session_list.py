"""List of saved sessions; rows are painted, so that only the visible ones cost time."""

import time
from pathlib import Path

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.labelling.guests import name_of
from app.start_page.session_model import ENTRY, Index, SessionModel, figures, shows_best, title
from app.style import theme
from app.style.labels import ENTER
from app.style.painting import RIGHT, rounded, set_font, write_line
from core.formatting import format_age, pluralize
from core.session.library import SessionEntry

_HEIGHT, _PICTURE, _MARGIN, _RADIUS = 92, 72, 10, 8


class _Row(QStyledItemDelegate):
    """Draws a session: thumbnail, name, task and teacher, number of answers, best result, and time since it was last used."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(300, _HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry: SessionEntry = index.data(ENTRY)
        model = index.model()
        assert isinstance(model, SessionModel)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        room: QRect = option.rect.adjusted(1, 1, -1, -3)
        self._draw_background(painter, room, option.state)
        place = QRect(room.left() + _MARGIN, room.top() + (room.height() - _PICTURE) // 2, _PICTURE, _PICTURE)
        self._draw_picture(painter, place, model.picture(entry), bool(entry.problem))
        text = QRect(place.right() + 13, room.top() + 8, 0, room.height() - 16)
        text.setRight(room.right() - 12)
        self._draw_name(painter, text, entry)
        if entry.summary is None:
            self._draw_problem(painter, text, entry.problem)
        else:
            self._draw_progress(painter, text, entry)
        painter.restore()

    def _draw_background(self, painter: QPainter, room: QRect, state: QStyle.StateFlag) -> None:
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        focused = chosen and bool(state & QStyle.StateFlag.State_HasFocus)
        over = bool(state & QStyle.StateFlag.State_MouseOver)
        palette = theme.palette()
        painter.setPen(QColor(palette.blue if focused else palette.muted if chosen else palette.line))
        painter.setBrush(QColor(palette.line if over and not chosen else palette.panel))
        painter.drawRoundedRect(QRectF(room).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)

    def _draw_picture(self, painter: QPainter, place: QRect, picture: QImage | None, problem: bool) -> None:
        painter.save()
        painter.setClipPath(rounded(place, 6))
        painter.fillRect(place, QColor(theme.palette().background))
        if picture is not None:
            painter.drawImage(place, picture)
        elif problem:
            painter.setPen(QColor(theme.palette().amber))
            set_font(painter, 28)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, "!")
        painter.restore()

    def _draw_name(self, painter: QPainter, room: QRect, entry: SessionEntry) -> None:
        set_font(painter, 12)
        when = format_age(max(0.0, time.time() - entry.changed_at)) if entry.changed_at else ""
        line = QRect(room.left(), room.top(), room.width(), 20)
        write_line(painter, line, when, theme.palette().muted, RIGHT)
        line.setRight(line.right() - painter.fontMetrics().horizontalAdvance(when) - 10)
        set_font(painter, 15)
        middle = Qt.TextElideMode.ElideMiddle
        write_line(painter, line, entry.folder.name, theme.palette().text, elide=middle)

    def _draw_problem(self, painter: QPainter, room: QRect, problem: str) -> None:
        set_font(painter, 12)
        painter.setPen(QColor(theme.palette().amber))
        painter.save()
        painter.setClipRect(room)
        painter.drawText(room.adjusted(0, 22, 0, 0), Qt.TextFlag.TextWordWrap, f"Can't be opened: {problem}")
        painter.restore()

    def _draw_progress(self, painter: QPainter, room: QRect, entry: SessionEntry) -> None:
        summary = entry.summary
        assert summary is not None
        muted = theme.palette().muted
        set_font(painter, 12)
        line = QRect(room.left(), room.top() + 20, room.width(), 18)
        write_line(painter, line, f"{title(summary)}  ·  {name_of(summary.teacher)}", muted)
        count = pluralize(summary.labels, "answer")
        write_line(painter, QRect(room.left(), room.top() + 40, room.width(), 16), count, muted)
        colour = theme.palette().green if shows_best(summary) else muted
        write_line(painter, QRect(room.left(), room.top() + 58, room.width(), 18), figures(summary), colour)


class SessionList(QListView):
    """List of sessions: arrow keys select, Enter or a double click opens.

    Signals:
        open_requested(object): SessionEntry to open.
        selected(object): the selected SessionEntry, or None.
    """

    open_requested = Signal(object)
    selected = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sessions")
        self.setAccessibleName("Saved sessions")
        self.session_model = SessionModel(self)
        self.setModel(self.session_model)
        self.setItemDelegate(_Row(self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.doubleClicked.connect(lambda index: self.open_requested.emit(index.data(ENTRY)))
        self.selectionModel().currentChanged.connect(lambda now, _: self.selected.emit(now.data(ENTRY)))

    @property
    def current(self) -> SessionEntry | None:
        entry: SessionEntry | None = self.currentIndex().data(ENTRY)
        return entry

    def set_entries(self, entries: list[SessionEntry], choose: Path | None = None) -> None:
        """List these and select `choose`, else the session selected before, else its neighbour."""
        row = max(0, self.currentIndex().row())
        folder = choose or (self.current.folder if self.current else None)
        self.session_model.set_entries(entries)
        rows = [number for number, entry in enumerate(entries) if entry.folder == folder]
        if entries:
            self.setCurrentIndex(self.session_model.index(rows[0] if rows else min(row, len(entries) - 1)))
        else:
            self.selected.emit(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER and self.current:
            if not event.isAutoRepeat():
                self.open_requested.emit(self.current)
        else:
            super().keyPressEvent(event)
