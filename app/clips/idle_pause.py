"""Pausing of the clips after a minute without input."""

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent

from app.clips.clip_pair import ClipPair
from app.style.labels import label

_HALF_MS = 30_000
"""Half of the time after which the clips rest. Input counts only in the second half, as listening costs time at each event."""
_INPUT = {
    QEvent.Type.KeyPress,
    QEvent.Type.ShortcutOverride,
    QEvent.Type.MouseMove,
    QEvent.Type.MouseButtonPress,
    QEvent.Type.Wheel,
}
_COMMANDS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
"""Modifiers; a key with one of them keeps its usual effect while the clips rest."""


class IdlePause(QObject):
    """Stops the clips after a minute without a new pair or a playback command, if there was no other input lately.

    The next input anywhere in the program plays them. If it is a key, it does nothing else: a person who returns has not
    seen the clips yet.

    timer: half of the time until the clips stop
    text: line over the clips while they rest

    Signals:
        rest_changed(bool): True if the clips rest.
    """

    rest_changed = Signal(bool)

    def __init__(self, clips: ClipPair) -> None:
        super().__init__(clips)
        self._clips, self._listens = clips, False
        self.text = label("readout", "Press any key to play the clips. It will not count as an answer.")
        self.text.setParent(clips)
        self.text.hide()
        self.timer = QTimer(self, singleShot=True, interval=_HALF_MS)
        self.timer.timeout.connect(self._on_timeout)
        clips.playback_changed.connect(self._on_playback_changed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() not in _INPUT:
            return False
        if self.text.isHidden():
            self._begin()
            return False
        if not self._clips.isVisible():  # another page took their place: nothing keeps them at rest
            self._clips.toggle_playback()
            return False
        here = self._clips.isActiveWindow()  # keys for a dialog are the dialog's
        plain = here and isinstance(event, QKeyEvent) and not event.modifiers() & _COMMANDS
        if plain and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()  # it arrives again, as a key press instead of a command
            return True
        self._clips.toggle_playback()
        return plain

    def _on_playback_changed(self) -> None:
        if not self.text.isHidden():
            self.rest_changed.emit(False)
        self.text.hide()
        self._begin()

    def _begin(self) -> None:
        """Begin the minute."""
        self._listen(False)
        self.timer.start()

    def _listen(self, on: bool) -> None:
        app = QCoreApplication.instance()
        assert app is not None
        self._listens = on
        app.removeEventFilter(self)
        if on:
            app.installEventFilter(self)

    def _on_timeout(self) -> None:
        if not self._clips.clock.playing:
            return
        if not self._listens:
            self._listen(True)
            self.timer.start()
            return
        self._clips.toggle_playback()
        self.timer.stop()
        self._listen(True)
        self.text.adjustSize()
        self.text.move((self._clips.width() - self.text.width()) // 2, self.text.height())
        self.text.show()
        self.rest_changed.emit(True)
