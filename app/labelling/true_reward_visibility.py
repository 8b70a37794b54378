"""Whether the true reward is on screen.

It is hidden by default where a human teaches: the method is for goals that nobody can write down, and who watches a
true return rise or fall begins to answer for it rather than for what the clips show. Where the oracle teaches there is
nobody to be led, and the true reward is what one compares with. Once the person has chosen, that holds for both.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app import settings
from core.tasks.base import Task
from core.types import Teacher

_SETTING = "plots/hide_true_reward"


class TrueRewardVisibility(QObject):
    """The switch 'Hide the true reward'.

    Signals:
        hidden_changed(bool): whether it is hidden from now on.
    """

    hidden_changed = Signal(bool)

    def __init__(self, teacher: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.hidden = settings.flag(_SETTING, teacher == Teacher.HUMAN)

    def hides(self, task: Task) -> bool:
        """Whether the task's own measure has to be hidden too, because it is the true return."""
        return self.hidden and task.measure_tells_reward

    def hide(self, on: bool) -> None:
        """The person's choice, which is kept."""
        settings.keep(_SETTING, on)
        self._set(on)

    def follow(self, teacher: str) -> None:
        """Another teacher answers; changes nothing once the person has chosen."""
        self._set(settings.flag(_SETTING, teacher == Teacher.HUMAN))

    def _set(self, on: bool) -> None:
        if on != self.hidden:
            self.hidden = on
            self.hidden_changed.emit(on)
