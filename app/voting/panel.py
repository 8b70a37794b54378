"""Widgets for an audience that votes: the QR code for their phones, the votes as bars, and the time left."""

import time

from PySide6.QtCore import QRect, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.style import theme
from app.style.painting import rounded, set_font, write_line
from core.voting.ballot import CHOICES

_QUIET = 4
"""Margin of a QR code in modules, which readers need to find it."""
_LETTER = 0.72
"""Maximum width of a bold letter, relative to the height of the font."""
_BROAD = 4
"""Minimum width of the bars, relative to their height."""
_CENTRE = Qt.AlignmentFlag.AlignCenter
_REFRESH_MS = 200


class VoteCode(QWidget):
    """QR code of an address, with an instruction above it and the address as text below."""

    def __init__(self, url: str) -> None:
        super().__init__()
        import segno  # only needed for votes

        self.url = url
        self.modules = [[bool(dark) for dark in line] for line in segno.make(url, micro=False, error="m").matrix]
        self.setAccessibleName(f"Vote at {url}")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(240, 280)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        line = max(16, self.height() // 8)
        count = len(self.modules) + 2 * _QUIET
        module = min(self.width(), self.height() - 2 * line) // count
        side = module * count
        left, top = (self.width() - side) // 2, (self.height() - side) // 2
        painter.fillRect(left, top, side, side, QColor("white"))
        for y, row in enumerate(self.modules):
            for x, dark in enumerate(row):
                if dark:
                    at = left + (x + _QUIET) * module, top + (y + _QUIET) * module
                    painter.fillRect(*at, module, module, QColor("black"))
        for text, y in (("Scan to vote", top - line), (self.url.removeprefix("http://"), top + side)):
            set_font(painter, min(round(0.7 * line), round(self.width() / (_LETTER * len(text)))), bold=True)
            write_line(painter, QRect(0, y, self.width(), line), text, theme.palette().text, _CENTRE)


class VoteBars(QWidget):
    """Bars of the votes so far, and the seconds left."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self._until = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self.update)
        self._timer.start()

    def sizeHint(self) -> QSize:
        return QSize(480, 110)

    @property
    def seconds(self) -> float:
        """Time left of the round."""
        return max(0.0, self._until - time.monotonic())

    def set_votes(self, counts: dict[str, int], seconds: float) -> None:
        self.counts, self._until = counts, time.monotonic() + seconds
        self.setAccessibleName(", ".join(f"{choice.capitalize()} {counts.get(choice, 0)}" for choice in CHOICES))
        self.update()

    def halt(self) -> None:
        self._timer.stop()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colours = QPainter(self), theme.palette()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        whole = min(self.height(), self.width() // _BROAD)
        clock, height = whole * 1.1, whole / len(CHOICES)
        total, most = sum(self.counts.values()), max(self.counts.values(), default=0)
        size = round(0.5 * height)
        set_font(painter, size, bold=True)
        names = max(painter.fontMetrics().horizontalAdvance(choice.capitalize()) for choice in CHOICES)
        name_width, number_width = names + 0.6 * size, 2.4 * size
        room = self.width() - clock - name_width - number_width
        for number, choice in enumerate(CHOICES):
            count, top = self.counts.get(choice, 0), number * height
            write_line(painter, QRectF(0, top, name_width, height).toRect(), choice.capitalize(), colours.text)
            track = QRectF(name_width, top + 0.2 * height, room, 0.6 * height)
            painter.fillPath(rounded(track, 0.15 * height), QColor(colours.panel))
            if count:
                track.setWidth(max(0.3 * height, room * count / total))
                colour = colours.green if count == most else colours.grey
                painter.fillPath(rounded(track, 0.15 * height), QColor(colour))
            area = QRectF(name_width + room + 0.4 * size, top, number_width, height).toRect()
            write_line(painter, area, f"{count}", colours.text)
        set_font(painter, round(0.45 * whole), bold=True)
        left = round(self.seconds + 0.49)
        area = QRectF(self.width() - clock, 0, clock, whole).toRect()
        write_line(painter, area, f"{left} s" if left else "–", colours.amber, _CENTRE)
