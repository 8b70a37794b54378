"""Pausing the clips after a minute in which nobody has done anything with them."""

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QCursor, QKeyEvent

from app.clips.clip_pair import ClipPair
from app.style.labels import label

_REST_MS = 60_000
_INPUT = {
    QEvent.Type.KeyPress,
    QEvent.Type.ShortcutOverride,
    QEvent.Type.MouseMove,
    QEvent.Type.MouseButtonPress,
    QEvent.Type.Wheel,
}
_COMMANDS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
"""Modifiers with which a key keeps its usual effect while the clips rest."""


class IdlePause(QObject):
    """Stops the clips after a minute without a new pair, a command for them or a move of the mouse.

    The next input anywhere in the program plays them. A key does nothing else then: a person who returns has not seen
    the clips yet.

    timer: time until the clips stop
    text: line over the clips while they rest
    """

    def __init__(self, clips: ClipPair) -> None:
        super().__init__(clips)
        self._clips, self._pointer = clips, QCursor.pos()
        self.text = label("readout", "Press any key to play; it is not taken as an answer")
        self.text.setParent(clips)
        self.text.hide()
        self.timer = QTimer(self, singleShot=True, interval=_REST_MS)
        self.timer.timeout.connect(self._on_timeout)
        clips.playback_changed.connect(self._on_playback_changed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Play the clips at an input. Installed only while they rest, as it sees each event of the program."""
        if event.type() not in _INPUT or not self.text.isVisible():
            return False
        here = self._clips.isActiveWindow()  # keys for a dialog are the dialog's
        plain = here and isinstance(event, QKeyEvent) and not event.modifiers() & _COMMANDS
        if plain and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()  # it arrives again, as a key press instead of a command
            return True
        self._clips.toggle_playback()
        return plain

    def _on_playback_changed(self) -> None:
        self.text.hide()
        _application().removeEventFilter(self)
        self._pointer = QCursor.pos()
        self.timer.start()

    def _on_timeout(self) -> None:
        before, self._pointer = self._pointer, QCursor.pos()
        if self._pointer != before:
            self.timer.start()
        elif self._clips.clock.playing:
            self._clips.toggle_playback()
            self.timer.stop()
            self.text.adjustSize()
            self.text.move(
                (self._clips.width() - self.text.width()) // 2, self._clips.height() - 2 * self.text.height()
            )
            self.text.show()
            _application().installEventFilter(self)


def _application() -> QCoreApplication:
    app = QCoreApplication.instance()
    assert app is not None
    return app
