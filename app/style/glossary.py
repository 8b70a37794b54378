"""The glossary, docs/glossary.md, in a dialog that opens at a word, and the links to it from buttons and widgets."""

from functools import cache

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlock, QTextCursor
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QToolButton, QWidget

from app.style.labels import tip
from app.style.layouts import column
from app.style.theme import RESOURCES

PAGE = RESOURCES.parent / "docs" / "glossary.md"
_WORD = "glossary_word"
_LEVEL = 3
"""Level of the headings that are words."""


class Glossary(QDialog):
    """The whole page, scrolled to one word."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Glossary – Somersault")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.text = QTextBrowser(openExternalLinks=True)
        self.text.setAccessibleName("Glossary")
        self.text.setMarkdown(_page())
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column((self.text, 1), buttons, of=self, margins=None)
        self.resize(680, 560)

    @property
    def words(self) -> list[str]:
        return [block.text() for block in self._headings()]

    def show_word(self, word: str) -> None:
        """Scroll so that this word is at the top, and select it; '' or an unknown word changes nothing."""
        block = next((block for block in self._headings() if block.text() == word), None)
        if block is None:
            return
        bar = self.text.verticalScrollBar()
        cursor = QTextCursor(block)
        self.text.setTextCursor(cursor)
        bar.setValue(bar.value() + self.text.cursorRect(cursor).top() - self.text.viewport().rect().top())
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        self.text.setTextCursor(cursor)

    def _headings(self) -> list[QTextBlock]:
        blocks, block = [], self.text.document().begin()
        while block.isValid():
            if block.blockFormat().headingLevel() == _LEVEL:
                blocks.append(block)
            block = block.next()
        return blocks


def open_glossary(window: QWidget, word: str = "") -> None:
    """Open the glossary over this window at a word."""
    glossary = window.findChild(Glossary) or Glossary(window)
    glossary.open()
    glossary.show_word(word)


def explain(widget: QWidget, word: str) -> None:
    """Set the word at which the glossary opens while the focus is in the widget."""
    widget.setProperty(_WORD, word)


def word_of(widget: QWidget | None) -> str:
    """Word of the widget or of the nearest one that contains it; '' if there is none."""
    while widget is not None:
        if word := widget.property(_WORD):
            return str(word)
        widget = widget.parentWidget()
    return ""


@cache
def _page() -> str:
    """Read the page, once for all buttons."""
    return PAGE.read_text("utf-8")


def definition(word: str) -> str:
    """Return the first sentence of the page about a word."""
    after = _page().partition(f"### {word}\n\n")[2]
    text = after.partition("\n\n")[0].replace("\n", " ").replace("*", "").replace("`", "")
    return text.partition(". ")[0].removesuffix(".") + "."


def help_button(word: str) -> QToolButton:
    """Make a small "?" button that opens the glossary at a word. It takes no focus, as a key does the same."""
    button = QToolButton()
    button.setText("?")
    button.setObjectName("help")
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    button.setAccessibleName(f"Explain {word}")
    button.setToolTip(f"{tip(definition(word))}Click for the glossary.")
    button.clicked.connect(lambda: open_glossary(button.window(), word))
    return button
