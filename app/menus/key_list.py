"""Dialog that lists all commands with their keys."""

from collections.abc import Iterator
from html import escape

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QWidget

from app.keys.commands import COMMANDS, KeyAction
from app.keys.key_map import KeyMap, key_symbols
from app.menus.menus import MENUS
from app.plots.plot import KEY_TEXTS
from app.style import theme
from app.style.layouts import column


class KeyList(QDialog):
    """List of all keys, generated from the menus and the keys in use."""

    def __init__(self, keys: KeyMap, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys and commands")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.text = QTextBrowser()
        self.text.setAccessibleName("Keys and commands")
        self._keys = keys
        self._fill()
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column((self.text, 1), buttons, of=self, margins=None)
        self.resize(680, 660)

    def changeEvent(self, event: QEvent) -> None:
        """Rebuild the text, which contains colours of the palette."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._fill()

    def _fill(self) -> None:
        scrolled = self.text.verticalScrollBar().value()
        self.text.setHtml("".join(_tables(self._keys)))
        self.text.verticalScrollBar().setValue(scrolled)


def _tables(keys: KeyMap) -> Iterator[str]:
    for title, groups in MENUS:
        rows = "".join(_row(action, keys) for group in groups for action in group)
        yield f"<h3>{title.replace('&', '')}</h3><table cellpadding='3' width='100%'>{rows}</table>"

    rows = "".join(f"<tr><td width='34%'><b>{names}</b></td><td>{effect}</td></tr>" for names, effect in KEY_TEXTS)
    yield f"<h3>In a focused plot</h3><table cellpadding='3' width='100%'>{rows}</table>"


def _row(action: KeyAction, keys: KeyMap) -> str:
    info, names = COMMANDS[action], key_symbols(keys.keys_for(action))
    tip = f"<br><span style='color:{theme.palette().muted}'>{escape(info.tip)}.</span>" if info.tip else ""
    return f"<tr><td width='34%'><b>{escape(names)}</b></td><td>{escape(info.name)}{tip}</td></tr>"
