"""Length of the clips and start of the episodes, chosen below the robot's picture."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFormLayout, QSlider, QWidget

from app.behaviours.draft import BehaviourDraft
from app.new_session.number_box import ChoiceBox
from app.style.labels import label
from app.style.layouts import row

_SECONDS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
_STARTS = {
    "standing": "Standing",
    "lying": "Lying",
    "tilted": "Tilted",
    "air": "In the air",
    "mixed": "Mixed: standing, turned over, tilted or in the air",
    "random": "In any pose",
}
_WHY_FEWER = {1: "The environment sets how episodes start.", 2: "This robot can't be laid down or lifted."}
"""Tooltip by the number of starts to choose from."""
_VARIED = "Early in training, some episodes also start turned over, tilted or in the air, and some clips show them."


class ClipSettings(QWidget):
    """Editor for the clip length and the start of a draft.

    form: its rows, to which the page adds others

    Signals:
        edited(): length or start were changed.
    """

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._draft = BehaviourDraft()
        self._lengths: list[float] = []
        self.length = QSlider(Qt.Orientation.Horizontal)
        self.length.setAccessibleName("Length of a clip")
        self.length.setPageStep(2)
        self.length.valueChanged.connect(self._on_length)
        self.seconds = label("settingName")
        self.seconds.setMinimumWidth(52)
        self.start = ChoiceBox()
        self.start.setAccessibleName("Start of the episodes")
        self.start.edited.connect(self._on_start)
        self.form = QFormLayout(self, horizontalSpacing=14, verticalSpacing=8)
        self.form.setContentsMargins(0, 0, 0, 0)
        self.form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for text, editor, field in (
            ("Clip &length", self.length, row((self.length, 1), self.seconds, spacing=10)),
            ("&Episodes start", self.start, row((self.start, 1))),
        ):
            name = label("settingName", text)
            name.setBuddy(editor)
            self.form.addRow(name, field)

    def show_draft(self, draft: BehaviourDraft) -> None:
        self._draft = draft
        longest, chosen = draft.longest_clip, draft.clip_seconds
        self._lengths = sorted({chosen, *(seconds for seconds in _SECONDS if seconds <= longest)})
        self.length.blockSignals(True)
        self.length.setMaximum(len(self._lengths) - 1)
        self.length.setValue(self._lengths.index(chosen))
        self.length.blockSignals(False)
        self._show_seconds()
        if [self.start.itemData(row) for row in range(self.start.count())] != list(draft.starts):
            self.start.clear()
            for name in draft.starts:
                self.start.addItem(_STARTS[name], name)
        self.start.set_value(draft.start)
        self.start.setEnabled(len(draft.starts) > 1)
        self.start.setToolTip(_WHY_FEWER.get(len(draft.starts), _VARIED))

    def _show_seconds(self) -> None:
        seconds = self._draft.clip_seconds
        self.seconds.setText(f"{seconds:g} s")
        self.length.setAccessibleDescription(f"{seconds:g} second{'' if seconds == 1 else 's'}")

    def _on_length(self, index: int) -> None:
        self._draft.clip_seconds = self._lengths[index]
        self._show_seconds()
        self.edited.emit()

    def _on_start(self, start: str) -> None:
        self._draft.start = start
        self.edited.emit()
