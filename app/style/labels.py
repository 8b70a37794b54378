"""Labels in the styles of resources/style.qss, buttons that do not take the focus when clicked, and helpers for both."""

from html import escape

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAccessible, QAccessibleEvent, QHelpEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QLabel, QPushButton, QStyleOption, QToolButton, QToolTip, QWidget

ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


def label(style: str, text: str = "", *, wrap: bool = False, centred: bool = False, rich: bool = False) -> QLabel:
    """Make a label with the style that the sheet names `#style`.

    rich: the text is HTML. Any other text is shown literally, because it may contain a file name or an error.
    """
    widget = QLabel(text)
    widget.setTextFormat(Qt.TextFormat.RichText if rich else Qt.TextFormat.PlainText)
    widget.setObjectName(style)
    widget.setWordWrap(wrap)
    if centred:
        widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return widget


class ElidedLabel(QLabel):
    """One line of plain text that is cut off with an ellipsis where there is no room; the tooltip then has all of it."""

    def __init__(self, style: str, text: str = "", where: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        super().__init__(text)
        self._where = where
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setObjectName(style)

    @property
    def elided(self) -> bool:
        return self.fontMetrics().horizontalAdvance(self.text()) > self.contentsRect().width()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        place, option = self.contentsRect(), QStyleOption()
        option.initFrom(self)
        text = self.fontMetrics().elidedText(self.text(), self._where, place.width())
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter, role = QPainter(self), self.foregroundRole()
        self.style().drawItemText(painter, place, align, option.palette, self.isEnabled(), text, role)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self.elided:
            QToolTip.showText(event.globalPos(), tip(self.text()), self)
            return True
        return super().event(event)


def tip(text: str) -> str:
    """Tooltip text for `setToolTip` that is shown literally and wraps."""
    return f"<p>{escape(text)}</p>" if text else ""


def literal(text: str) -> str:
    """Text for a button that is shown literally: an & marks no key."""
    return text.replace("&", "&&")


def fold_button(text: str) -> QToolButton:
    """Make a button with an arrow that points down while it is checked, to show and hide a part of a page."""
    widget = QToolButton(arrowType=Qt.ArrowType.RightArrow)
    widget.setObjectName("fold")
    widget.setText(text)
    widget.setCheckable(True)
    widget.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    widget.toggled.connect(lambda on: widget.setArrowType(Qt.ArrowType.DownArrow if on else Qt.ArrowType.RightArrow))
    return widget


def keep_place(widget: QWidget, on: bool = True) -> None:
    """Let the widget keep its place in a layout while it is hidden."""
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(on)
    widget.setSizePolicy(policy)


def set_property(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet uses, and restyle the widget."""
    widget.setProperty(name, value)
    widget.style().polish(widget)


def read_out(widget: QWidget, text: str) -> None:
    """Make a screen reader announce the new text of a widget at once."""
    widget.setAccessibleDescription(text)
    QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.Alert))


def press_on_enter(page: QWidget, event: QKeyEvent) -> bool:
    """Press the page's focused button on Enter, as on Space; Qt does this in dialogs only. Return True if a button has the focus.

    A key that is held down presses once.
    """
    focused = page.focusWidget()
    if event.key() not in ENTER or not isinstance(focused, QAbstractButton):
        return False
    if not event.isAutoRepeat():
        focused.click()
    return True


def tab_button(text: str) -> QPushButton:
    """Make a button that Tab reaches, but that a click does not focus."""
    widget = QPushButton(text)
    widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return widget
