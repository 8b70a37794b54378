"""Visibility of the true reward.

It is hidden by default while a person teaches: the method is for goals without a reward function, and a person who
sees the true return starts to answer by it instead of by the clips. With the oracle it is shown, for comparison.
A choice by the person overrides both defaults.
"""

from PySide6.QtCore import QObject, Signal

from app import settings
from core.tasks.base import Task
from core.types import Teacher

_SETTING = "plots/hide_true_reward"


def hides_true_reward(teacher: str) -> bool:
    """True if the true reward is hidden in a session with this teacher."""
    return settings.flag(_SETTING, teacher == Teacher.HUMAN)


class TrueRewardVisibility(QObject):
    """The switch "Hide the true reward".

    Signals:
        hidden_changed(bool): True if the true reward is now hidden.
    """

    hidden_changed = Signal(bool)

    def __init__(self, teacher: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.hidden = hides_true_reward(teacher)

    def hides(self, task: Task) -> bool:
        """True if the task's own measure is hidden too: a person would start to answer by it as well."""
        return self.hidden and task.has_true_reward

    def hide(self, on: bool) -> None:
        """Apply and save the person's choice."""
        settings.keep(_SETTING, on)
        self._set(on)

    def follow(self, teacher: str) -> None:
        """Take the default for this teacher, unless the person has chosen."""
        self._set(hides_true_reward(teacher))

    def _set(self, on: bool) -> None:
        if on != self.hidden:
            self.hidden = on
            self.hidden_changed.emit(on)
