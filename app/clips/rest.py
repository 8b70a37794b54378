"""Pausing the clips after a minute without input."""

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer

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


class Rest(QObject):
    """Stops the clips after a minute without input anywhere in the program, and plays them at the next input.

    timer: time until the clips stop
    text: line over the clips while they rest
    """

    def __init__(self, clips: ClipPair) -> None:
        super().__init__(clips)
        self._clips = clips
        self.text = label("readout", "Press any key to play")
        self.text.setParent(clips)
        self.text.hide()
        self.timer = QTimer(self, singleShot=True, interval=_REST_MS)
        self.timer.timeout.connect(self._on_timeout)
        clips.playback_changed.connect(self._on_playback_changed)
        app = QCoreApplication.instance()
        assert app is not None
        app.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _INPUT:
            self.timer.start()
            if self.text.isVisible():
                QTimer.singleShot(0, self, self._wake)  # after the key's own command, which may be about the playback
        return False

    def _on_playback_changed(self) -> None:
        self.text.hide()
        self.timer.start()

    def _on_timeout(self) -> None:
        if self._clips.clock.playing:
            self._clips.toggle_playback()
            self.timer.stop()
            self.text.adjustSize()
            self.text.move(
                (self._clips.width() - self.text.width()) // 2, self._clips.height() - 2 * self.text.height()
            )
            self.text.show()

    def _wake(self) -> None:
        if self.text.isVisible():
            self._clips.toggle_playback()
