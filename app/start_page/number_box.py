"""A spin box for any number: whole ones of any size, and others from 1e-12 to 1e12, as they are written."""

from __future__ import annotations

import math

from PySide6.QtCore import Signal
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QWidget

from app.session.config_draft import Setting


class NumberBox(QAbstractSpinBox):
    """Its arrows keep to the bounds. What is typed may leave them: the form says so, and nothing is changed in silence.

    Signals:
        edited(object): the person changed it; a number, or the text that is none.
    """

    edited = Signal(object)

    def __init__(self, setting: Setting, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._setting = setting
        self.lineEdit().setTextMargins(6, 0, 0, 0)
        self.lineEdit().textEdited.connect(lambda _: self.edited.emit(self.value()))

    def value(self) -> int | float | str:
        """A number, or the text where that is none."""
        text = self.lineEdit().text().strip()
        plain = text.replace(",", "").replace(" ", "")
        try:
            number = float(plain)
            if not self._setting.whole:
                return number if math.isfinite(number) else text
            return int(plain) if "e" not in plain.lower() else _whole(number)
        except ValueError:
            return text

    def set_value(self, value: object) -> None:
        """Leaves what means the same as it was typed."""
        if value != self.value():
            self.lineEdit().setText(written(value))

    def stepBy(self, steps: int) -> None:
        value = self.value()
        if isinstance(value, str):
            return
        size = 1 if self._setting.whole else _step(value)
        moved = min(self._setting.high, max(self._setting.low, value + steps * size))
        self.lineEdit().setText(written(int(moved) if self._setting.whole else round(moved, 12)))
        self.edited.emit(self.value())

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        value, ways = self.value(), QAbstractSpinBox.StepEnabledFlag.StepNone
        if isinstance(value, str):
            return ways
        if value < self._setting.high:
            ways |= QAbstractSpinBox.StepEnabledFlag.StepUpEnabled
        if value > self._setting.low:
            ways |= QAbstractSpinBox.StepEnabledFlag.StepDownEnabled
        return ways

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Anything may be typed: Qt would otherwise put back another value when the focus leaves."""
        return QValidator.State.Acceptable, text, position

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the wheel scrolls the form that it is in


class ChoiceBox(QComboBox):
    """A combo box that leaves the wheel to the form that it is in."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def _whole(number: float) -> int:
    if not number.is_integer():
        raise ValueError
    return int(number)


def _step(value: float) -> float:
    """A tenth of the leading digit's place: .99 goes by .01 and 1e-3 by 1e-4."""
    return 10.0 ** (math.floor(math.log10(abs(value))) - 1) if value else 0.1


def written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
