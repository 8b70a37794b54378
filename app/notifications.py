"""Notifications in the window, and through the desktop when the window is not in front."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QSystemTrayIcon, QWidget

_SHOWN_MS = 10_000


def system_tray(window: QWidget) -> QSystemTrayIcon | None:
    """Return a hidden icon for the notification area; None if the desktop has none or shows no messages."""
    if not (QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()):
        return None
    icon = QSystemTrayIcon(window.windowIcon(), window)
    icon.setToolTip(window.windowTitle())
    return icon


class Notifier(QObject):
    """Shows messages in the window, and through the desktop if the window is not in front.

    tell_inside: shows a message in the window
    find_tray: called for each message until there is a tray, as a desktop may start it later
    """

    def __init__(
        self,
        window: QWidget,
        tell_inside: Callable[[str], None],
    ) -> None:
        super().__init__(window)
        self._window, self._tell_inside, self.find_tray = window, tell_inside, system_tray
        self._tray: QSystemTrayIcon | None = None

    def tell(self, title: str, text: str) -> None:
        """title: without a full stop; text: a sentence"""
        self._tell_inside(f"{title}. {text}")
        self.tell_outside(title, text)

    def tell_outside(self, title: str, text: str) -> None:
        """Show a message only if the window is not in front; the window has its own way to show it."""
        if self._window.isActiveWindow():
            return
        self._tray = self._tray or self.find_tray(self._window)
        if self._tray:
            self._tray.show()
            self._tray.showMessage(title, text, self._tray.icon(), _SHOWN_MS)

    def close(self) -> None:
        if self._tray:
            self._tray.hide()
