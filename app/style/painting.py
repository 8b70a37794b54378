"""Shorthands for painting text and rounded rectangles."""

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath

RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
WRAPPED = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignTop


def set_font(painter: QPainter, pixels: int, bold: bool = False, struck: bool = False) -> None:
    font = painter.font()
    font.setPixelSize(pixels)
    font.setBold(bold)
    font.setStrikeOut(struck)
    painter.setFont(font)


def write_line(
    painter: QPainter,
    area: QRect,
    text: str,
    colour: str,
    align: Qt.AlignmentFlag = LEFT,
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> None:
    """Write one line, shortened to the width of the area."""
    painter.setPen(QColor(colour))
    painter.drawText(area, align, painter.fontMetrics().elidedText(text, elide, area.width()))


def narrow(painter: QPainter, text: str, width: int) -> str:
    """Return the text with every word wider than `width` elided, because word wrap would clip it."""
    elided = painter.fontMetrics().elidedText
    return " ".join(elided(word, Qt.TextElideMode.ElideMiddle, width) for word in text.split(" "))


def write_paragraph(painter: QPainter, area: QRect, text: str) -> None:
    """Write a text in the painter's font and colour, wrapped into the area; a text that does not fit is cut and ends with "…"."""
    words, shown = text.split(), text
    while words and painter.boundingRect(area, WRAPPED, shown).height() > area.height():
        words.pop()
        shown = f"{' '.join(words)} …"
    painter.drawText(area, WRAPPED, shown)


def write_badge(painter: QPainter, area: QRect, text: str, pixels: int) -> None:
    """Write a word in the lower left corner of a picture, on a dark ground that suits any picture. pixels: of the font"""
    set_font(painter, pixels)
    words = painter.fontMetrics().boundingRect(text)
    place = QRectF(0, 0, words.width() + pixels, words.height() + 0.35 * pixels)
    place.moveBottomLeft(QRectF(area).bottomLeft() + QPointF(0.5 * pixels, -0.5 * pixels))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(0, 0, 0, 150))
    painter.drawRoundedRect(place, 0.4 * pixels, 0.4 * pixels)
    painter.setPen(QColor(Qt.GlobalColor.white))
    painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)


def rounded(area: QRect | QRectF, radius: float) -> QPainterPath:
    path = QPainterPath()
    path.addRoundedRect(QRectF(area), radius, radius)
    return path


def fitted(size: QSize, area: QRect) -> QRect:
    """Largest rectangle with the proportions of `size` in the middle of the area."""
    width, height = size.scaled(area.size(), Qt.AspectRatioMode.KeepAspectRatio).toTuple()
    return QRect(area.x() + (area.width() - width) // 2, area.y() + (area.height() - height) // 2, width, height)
