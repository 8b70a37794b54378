"""A spin box for any number: integers of any size, and floats from 1e-12 to 1e12."""

import math
import re

from PySide6.QtCore import Signal
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox

from app.session.config_draft import Setting

_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([, ]\d{3})+")
"""A whole number with separated thousands. Elsewhere, a comma may be a decimal point: 0,001 must not be read as 1."""


class NumberBox(QAbstractSpinBox):
    """The arrows respect the bounds. Typed values may exceed them: the form reports that, and no value is changed.

    Signals:
        edited(object): new value; a number, or text that is not a number.
    """

    edited = Signal(object)

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._setting = setting
        self.lineEdit().setTextMargins(6, 0, 0, 0)
        self.lineEdit().textEdited.connect(lambda _: self.edited.emit(self.value()))

    def value(self) -> int | float | str:
        """A number, or the text if it is not a number."""
        text = self.lineEdit().text().strip()
        grouped = self._setting.whole and _GROUPED.fullmatch(text)
        plain = text.replace(",", "").replace(" ", "") if grouped else text
        try:
            number = float(plain)
            if not self._setting.whole:
                return number if math.isfinite(number) else text
            if "e" not in plain.lower():
                return int(plain)
            return int(number) if number.is_integer() else text
        except ValueError:
            return text

    def set_value(self, value: object) -> None:
        """Set the value; text that already means this value stays as typed."""
        if value != self.value():
            self.lineEdit().setText(format_value(value))

    def stepBy(self, steps: int) -> None:
        value = self.value()
        if isinstance(value, str):
            return
        size = 1 if self._setting.whole else _step(value)
        moved = min(self._setting.high, max(self._setting.low, value + steps * size))
        self.lineEdit().setText(format_value(int(moved) if self._setting.whole else round(moved, 12)))
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
        """Accept any text: Qt would otherwise restore another value when the focus leaves."""
        return QValidator.State.Acceptable, text, position

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the wheel scrolls the form


class ChoiceBox(QComboBox):
    """A combo box whose items have values as their data. It leaves the mouse wheel to the form.

    Signals:
        edited(object): value of the item that the person has chosen.
    """

    edited = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.activated.connect(lambda: self.edited.emit(self.currentData()))

    def set_value(self, value: object) -> None:
        """Show the item with this value, or the first one if there is none."""
        self.setCurrentIndex(max(0, self.findData(value)))

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def _step(value: float) -> float:
    """Step size, a tenth of the leading digit's place: .01 for .99 and 1e-4 for 1e-3."""
    return 10.0 ** (math.floor(math.log10(abs(value))) - 1) if value else 0.1


def format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
