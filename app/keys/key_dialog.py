"""Dialog for changing the keys."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QWidget

from app.keys.commands import COMMANDS, KeyAction
from app.keys.key_button import KeyButton
from app.keys.key_map import KeyMap, key_symbol
from app.style.labels import label
from app.style.layouts import column
from app.style.scroll_area import ScrollArea
from core.errors import UserError

_KEYS_EACH = 2
_HOW = (
    "Click a field, or select it with Tab and Space; then press the new key."
    " Esc keeps the old key, Delete clears the field."
)


class KeyDialog(QDialog):
    """One row for each command. Nothing changes before OK.

    Signals:
        keys_chosen(object): the new KeyMap; emitted on OK.
    """

    keys_chosen = Signal(object)

    def __init__(self, keys: KeyMap, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Change keys")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.keys = keys
        self.fields: dict[KeyAction, tuple[KeyButton, ...]] = {}
        self.message = label("notice", wrap=True)
        self.message.setMinimumHeight(2 * self.fontMetrics().height() + 4)
        how = label("detail", _HOW, wrap=True)
        column(how, (self._rows(), 1), self.message, self._buttons(), of=self, margins=None)
        self._refresh()
        self.fields[next(iter(COMMANDS))][0].setFocus()
        self.resize(620, 640)

    def _rows(self) -> ScrollArea:
        page = QWidget()
        grid = QGridLayout(page)
        grid.setColumnStretch(0, 1)
        for row, (action, info) in enumerate(COMMANDS.items()):
            grid.addWidget(label("settingName", info.name), row, 0)
            self.fields[action] = tuple(self._make_field(action, place) for place in range(_KEYS_EACH))
            for place, field in enumerate(self.fields[action]):
                grid.addWidget(field, row, 1 + place)
        return ScrollArea(page)

    def _make_field(self, action: KeyAction, place: int) -> KeyButton:
        field = KeyButton(f"{COMMANDS[action].name}, {('first', 'second')[place]} key")
        field.key_chosen.connect(lambda key: self.choose_key(action, place, key))
        return field

    def _buttons(self) -> QDialogButtonBox:
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel | kinds.RestoreDefaults)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.buttons.button(kinds.RestoreDefaults).clicked.connect(self._on_reset)
        return self.buttons

    def choose_key(self, action: KeyAction, place: int, key: str) -> None:
        """Assign the key ('' to clear it), and show which command lost it or why it can't be assigned."""
        owner = self.keys.bindings.get(key)
        fields = [field.key for field in self.fields[action]]
        if owner == action and key != fields[place]:
            self.message.setText(f"{key_symbol(key)} already triggers “{COMMANDS[action].name}”.")
            return
        fields[place] = key
        try:
            self.keys = self.keys.with_keys(action, *filter(None, fields))
        except UserError as error:
            self.message.setText(str(error))
            return
        self.message.setText("")
        if owner not in (None, action):
            self.message.setText(f"{key_symbol(key)} no longer triggers “{COMMANDS[owner].name}”.")
        self._refresh()

    def _on_reset(self) -> None:
        self.keys = KeyMap()
        self.message.setText("The default keys are restored.")
        self._refresh()

    def _refresh(self) -> None:
        for action, fields in self.fields.items():
            names = self.keys.keys_for(action)
            for place, field in enumerate(fields):
                field.set_key(names[place] if place < len(names) else "")

    def accept(self) -> None:
        self.keys_chosen.emit(self.keys)
        super().accept()
