"""Notifications in the window, and through the desktop when the window is not in front."""

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QSystemTrayIcon, QWidget

_SHOWN_MS = 10_000


class Tray(Protocol):
    """The desktop's notification area."""

    def tell(self, title: str, text: str) -> None: ...
    def close(self) -> None: ...


class SystemTray:
    """Icon in the notification area, shown with the first message."""

    def __init__(self, window: QWidget) -> None:
        self._icon = QSystemTrayIcon(window.windowIcon(), window)
        self._icon.setToolTip(window.windowTitle())

    def tell(self, title: str, text: str) -> None:
        self._icon.show()
        self._icon.showMessage(title, text, self._icon.icon(), _SHOWN_MS)

    def close(self) -> None:
        self._icon.hide()


def system_tray(window: QWidget) -> Tray | None:
    """Return the notification area; None if the desktop has none or shows no messages."""
    supported = QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()
    return SystemTray(window) if supported else None


class Notifier(QObject):
    """Shows messages in the window, and through the desktop if the window is not in front.

    find_tray: called for each message, as a desktop's tray may come and go
    """

    def __init__(
        self,
        window: QWidget,
        tell_inside: Callable[[str], None],
        find_tray: Callable[[QWidget], Tray | None] = system_tray,
    ) -> None:
        """tell_inside: shows a message in the window"""
        super().__init__(window)
        self._window, self._tell_inside, self.find_tray = window, tell_inside, find_tray
        self._tray: Tray | None = None

    def tell(self, title: str, text: str) -> None:
        self._tell_inside(f"{title}: {text}")
        self.tell_outside(title, text)

    def tell_outside(self, title: str, text: str) -> None:
        """Show a message only if the window is not in front; the window has its own way to show it."""
        if self._window.isActiveWindow():
            return
        self._tray = self._tray or self.find_tray(self._window)
        if self._tray:
            self._tray.tell(title, text)

    def close(self) -> None:
        if self._tray:
            self._tray.close()
