"""What the person should hear of although the window may be behind others: through the system where it can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QSystemTrayIcon, QWidget

_SHOWN_MS = 10_000


class Tray(Protocol):
    """Where the system shows messages."""

    def tell(self, title: str, text: str) -> None: ...
    def close(self) -> None: ...


class SystemTray:
    """Its icon is there only once there was something to tell."""

    def __init__(self, window: QWidget) -> None:
        self._icon = QSystemTrayIcon(window.windowIcon(), window)
        self._icon.setToolTip(window.windowTitle())

    def tell(self, title: str, text: str) -> None:
        self._icon.show()
        self._icon.showMessage(title, text, self._icon.icon(), _SHOWN_MS)

    def close(self) -> None:
        self._icon.hide()


def system_tray(window: QWidget) -> Tray | None:
    """None where the desktop shows no messages for programs."""
    supported = QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()
    return SystemTray(window) if supported else None


class Notifier(QObject):
    """Tells within the window always, and through the system where that can and the window is not in front."""

    def __init__(
        self,
        window: QWidget,
        tell_inside: Callable[[str], None],
        find_tray: Callable[[QWidget], Tray | None] = system_tray,
    ) -> None:
        """find_tray is asked at each message: a desktop's tray may come later than the program, and may go."""
        super().__init__(window)
        self._window, self._tell_inside, self._find_tray = window, tell_inside, find_tray
        self._tray: Tray | None = None

    def tell(self, title: str, text: str) -> None:
        self._tell_inside(f"{title}: {text}")
        self.tell_outside(title, text)

    def tell_outside(self, title: str, text: str) -> None:
        """Only where the window is not in front: within it, the person is told otherwise."""
        if self._window.isActiveWindow():
            return
        self._tray = self._tray or self._find_tray(self._window)
        if self._tray:
            self._tray.tell(title, text)

    def close(self) -> None:
        if self._tray:
            self._tray.close()
