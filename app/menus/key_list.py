"""All commands with their keys, as the menus have them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from app.keys.commands import COMMANDS, KeyAction, KeyMap, symbols
from app.menus.menus import MENUS
from app.plots.plot_shortcuts import WORDS as PLOT_KEYS
from app.style import theme


class KeyList(QDialog):
    """Made from the table of commands and the person's own keys, so that it can't lag behind them."""

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
        column = QVBoxLayout(self)
        column.addWidget(self.text, 1)
        column.addWidget(buttons)
        self.resize(680, 660)

    def changeEvent(self, event: QEvent) -> None:
        """The colours are part of the text."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._fill()

    def _fill(self) -> None:
        scrolled = self.text.verticalScrollBar().value()
        self.text.setHtml("".join(_tables(self._keys)))
        self.text.verticalScrollBar().setValue(scrolled)


def _tables(keys: KeyMap) -> Iterator[str]:
    for title, groups in MENUS:
        rows = "".join(_row(meaning, keys) for group in groups for meaning in group)
        yield f"<h3>{title.replace('&', '')}</h3><table cellpadding='3' width='100%'>{rows}</table>"

    rows = "".join(f"<tr><td width='34%'><b>{names}</b></td><td>{words}</td></tr>" for names, words in PLOT_KEYS)
    yield f"<h3>On a plot reached with Tab, or clicked</h3><table cellpadding='3' width='100%'>{rows}</table>"


def _row(meaning: KeyAction, keys: KeyMap) -> str:
    entry, names = COMMANDS[meaning], symbols(keys.keys_for(meaning))
    tip = f"<br><span style='color:{theme.palette().muted}'>{escape(entry.tip)}.</span>" if entry.tip else ""
    return f"<tr><td width='34%'><b>{escape(names)}</b></td><td>{escape(entry.words)}{tip}</td></tr>"
