"""Dialog that lists all commands with their keys, and the keys of all pages."""

from collections.abc import Iterator
from html import escape

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QWidget

from app.keys.commands import COMMANDS, KeyAction
from app.keys.key_map import KeyMap, key_symbols
from app.menus.menus import MENUS
from app.menus.page_keys import page_keys
from app.style import theme
from app.style.layouts import column


class KeyList(QDialog):
    """List of all keys, generated from the menus and the keys in use."""

    def __init__(self, keys: KeyMap, parent: QWidget | None = None, pages_first: bool = False) -> None:
        """pages_first: the pages come before the menus of a session"""
        super().__init__(parent)
        self.setWindowTitle("Keys and commands")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.text = QTextBrowser()
        self.text.setAccessibleName("Keys and commands")
        self._keys, self._pages_first = keys, pages_first
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
        self.text.setHtml("".join(_tables(self._keys, self._pages_first)))
        self.text.verticalScrollBar().setValue(scrolled)


def _tables(keys: KeyMap, pages_first: bool) -> Iterator[str]:
    menus = [
        (title.replace("&", ""), [_command(action, keys) for group in groups for action in group])
        for title, groups in MENUS
    ]
    pages = [(title, [(names, escape(effect)) for names, effect in rows]) for title, rows in page_keys(keys).items()]
    for title, rows in (*pages, *menus) if pages_first else (*menus, *pages):
        cells = "".join(
            f"<tr><td width='34%'><b>{escape(names)}</b></td><td>{effect}</td></tr>" for names, effect in rows
        )
        yield f"<h3>{title}</h3><table cellpadding='3' width='100%'>{cells}</table>"


def _command(action: KeyAction, keys: KeyMap) -> tuple[str, str]:
    """Return the names of a command's keys, and its name and tip in HTML."""
    info = COMMANDS[action]
    tip = f"<br><span style='color:{theme.palette().muted}'>{escape(info.tip)}.</span>" if info.tip else ""
    return key_symbols(keys.keys_for(action)), escape(info.name) + tip
