"""Files that the person asked for, written beside everything else: a long one holds up neither a checkpoint nor the
window."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.background import Background

_ERRAND = "errand"


class Errands(QObject):
    """One after the other, in a thread of its own.

    Signals:
        errand_ended(str): what `run` was given is done, or could not be; one sentence.
    """

    errand_ended = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._under_way = 0
        self._waiting: Callable[[], None] | None = None
        self._disk = Background(self)
        self._disk.task_done.connect(self._on_ended)
        self._disk.task_refused.connect(self._on_ended)
        self._disk.start()

    def run(self, errand: Callable[[], None], done: str) -> None:
        """Then tells `done`."""

        def carry_out() -> str:
            errand()
            return done

        self._under_way += 1
        self._disk.do(carry_out, _ERRAND)

    def when_done(self, call: Callable[[], None]) -> None:
        """Calls it once nothing is under way; now, if nothing is. Only the last of several is called."""
        self._waiting = call
        self._go_on()

    def close(self) -> None:
        """Blocks until all is done: at once after `when_done` has called."""
        self._disk.end()
        self._disk.wait()

    def _on_ended(self, _: str, told: str) -> None:
        self._under_way -= 1
        self.errand_ended.emit(told)
        self._go_on()

    def _go_on(self) -> None:
        if self._waiting and not self._under_way:
            call, self._waiting = self._waiting, None
            call()
