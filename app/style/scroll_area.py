"""A scroll area for a page: it scrolls only vertically, and to the control that gets the focus from the keyboard."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget

_AROUND = 12
"""Pixels that stay visible above and below the focused control."""


class ScrollArea(QScrollArea):
    """Contains one widget, which is as wide as the area. Takes no focus itself."""

    def __init__(self, inside: QWidget | None = None) -> None:
        super().__init__(widgetResizable=True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        if inside is not None:
            self.setWidget(inside)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_focus_changed)

    def _on_focus_changed(self, _: QWidget | None, focused: QWidget | None) -> None:
        """Scroll to the focused control, unless the mouse chose it: it would move away from below the pointer."""
        pressed = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        inside = self.widget()
        if focused is not None and not pressed and inside is not None and inside.isAncestorOf(focused):
            self.ensureWidgetVisible(focused, 0, _AROUND)
