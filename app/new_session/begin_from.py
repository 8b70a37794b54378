"""Choice of a session of the same robot whose reward model, policy or answers a new session begins with."""

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QWidget

from app.new_session.number_box import ChoiceBox
from app.style.labels import label
from app.style.layouts import column, row
from core.errors import UserError
from core.session.taking import PARTS, Beginning, same_body
from core.tasks import get_task
from core.tasks.base import Task

_USUAL = ("reward", "policy")
_TIPS = {
    "reward": "The reward model: what the robot should do",
    "policy": "The policy: what the robot can already do",
    "answers": "The answers, which then count for this behaviour; clips must have the same length in both sessions",
}


class BeginFrom(QWidget):
    """Selector of the session that a new one begins with; hidden with its label while none fits.

    title: the label, which the form places before it
    """

    def __init__(self) -> None:
        super().__init__()
        self._sessions: Mapping[Path, str] = {}
        self._task: Task | None = None
        self._wanted: str | None = None
        """Folder that the person has chosen, kept even while it does not fit; None for nothing."""
        self.source = ChoiceBox()
        self.source.setSizeAdjustPolicy(ChoiceBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.source.setMinimumContentsLength(20)  # names may be long
        self.source.setAccessibleName("Begin with what a session has learned")
        self.source.activated.connect(self._on_chosen)
        self.parts = {name: QCheckBox(name.capitalize()) for name in PARTS}
        for name, box in self.parts.items():
            box.setToolTip(_TIPS[name])
        self.title = label("settingName", "&Begin with")
        self.title.setBuddy(self.source)
        self.nothing = label("settingHelp", "Nothing is selected: choose at least one part.")
        for box in self.parts.values():
            box.toggled.connect(self._show_parts)
        column(self.source, row(*self.parts.values(), None, spacing=12), self.nothing, of=self, spacing=6)
        self.reset()
        self._show_row(False)

    @property
    def chosen(self) -> Beginning | None:
        """The session's folder and the parts that are taken from it; None for nothing."""
        parts = frozenset(name for name, box in self.parts.items() if box.isChecked())
        folder = self.source.currentData()
        return Beginning(Path(folder), parts) if folder is not None and parts and not self.isHidden() else None

    def reset(self) -> None:
        """Select nothing: the next session starts from scratch unless another choice is made."""
        self._wanted = None
        self.source.setCurrentIndex(0)
        for name, box in self.parts.items():
            box.setChecked(name in _USUAL)
        self._show_parts()

    def set_sessions(self, sessions: Mapping[Path, str]) -> None:
        """sessions: tasks by folder"""
        self._sessions = sessions
        self.show_fitting(self._task)

    def show_fitting(self, task: Task | None) -> None:
        """Offer the sessions of the task's robot. None (an unfinished Gymnasium behaviour) keeps the present offer."""
        self._task = task
        if task is None:
            return
        fitting = [str(folder) for folder, other in self._sessions.items() if _fits(other, task)]
        if fitting != [self.source.itemData(index) for index in range(1, self.source.count())]:
            self.source.clear()
            self.source.addItem("Nothing (start from scratch)", None)
            for folder in fitting:
                path = Path(folder)  # the data is a text, as findData compares texts
                self.source.addItem(f"{path.name}  ·  {get_task(self._sessions[path]).title}", folder)
                self.source.setItemData(self.source.count() - 1, folder, Qt.ItemDataRole.ToolTipRole)
            self.source.setCurrentIndex(max(0, self.source.findData(self._wanted)))
        self._show_row(bool(fitting))
        self._show_parts()

    def _show_row(self, on: bool) -> None:
        for part in (self.title, self):
            part.setVisible(on)

    def _on_chosen(self) -> None:
        self._wanted = self.source.currentData()
        self._show_parts()

    def _show_parts(self) -> None:
        any_chosen = any(box.isChecked() for box in self.parts.values())
        has_source = self.source.currentData() is not None
        for box in self.parts.values():
            box.setVisible(has_source)
        self.nothing.setVisible(has_source and not any_chosen)


def _fits(other: str, task: Task) -> bool:
    try:
        return same_body(get_task(other), task)
    except UserError:  # of another version
        return False
