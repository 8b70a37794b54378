"""The present policy acting, and a slider back to how it learned."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QSlider, QVBoxLayout, QWidget

from app.live.demonstrations import Demonstration
from app.live.policy_player import PolicyPlayer
from app.style.labels import label
from core.formatting import format_number
from core.session.policy_snapshots import SnapshotInfo

_SETTLED_MS = 150
"""How long the slider stands still before a policy is asked for: it passes over many."""


class LiveView(QWidget):
    """At its right end the slider is live; to the left of that it stands at a policy of the past.

    Signals:
        moment_chosen(object): the policy of this Moment is wanted; None for the present one.
    """

    moment_chosen = Signal(object)

    def __init__(self, measure_title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._measure_title, self._hides_figures = measure_title, False
        self._moments: tuple[SnapshotInfo, ...] = ()
        self.live: Demonstration | None = None
        """The newest of the present policy, whatever is on screen."""
        self._asked: SnapshotInfo | None = None
        self.title, self.figure = label("plotTitle", "The policy, live"), label("plotKey")
        self.policy = PolicyPlayer("The policy acting", self)
        self.policy.demonstration_started.connect(self._tell)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.slider.setMaximum(0)
        self.slider.setAccessibleName("Earlier policies")
        self.slider.setToolTip("How it learned: drag to see earlier policies act")
        self.slider.setEnabled(False)
        self._settled = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._settled.timeout.connect(self._on_settled)
        self.slider.valueChanged.connect(self._on_moved)
        self._arrange()

    def _arrange(self) -> None:
        foot = QHBoxLayout()
        foot.addWidget(label("plotKey", "untrained"))
        foot.addWidget(self.slider, 1)
        foot.addWidget(label("plotKey", "live"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.title)
        column.addWidget(self.figure)
        column.addWidget(self.policy, 1)
        column.addLayout(foot)

    @property
    def shown(self) -> Demonstration | None:
        return self.policy.shown

    @property
    def moment(self) -> SnapshotInfo | None:
        """At which the slider stands; None: live."""
        return self._moments[self.slider.value()] if self.slider.value() < len(self._moments) else None

    @property
    def _wanted(self) -> SnapshotInfo | None:
        """The newest that is kept stands in for the present policy as long as that has not been seen to act."""
        if self.moment is None and self.live is None and self._moments:
            return self._moments[-1]
        return self.moment

    def take(self, demonstration: Demonstration) -> None:
        """The newest of the present policy."""
        self.live = demonstration
        if self.moment is None:
            self.policy.take(demonstration)

    def take_replay(self, demonstration: Demonstration) -> None:
        """Of a policy of the past; too late where the slider has gone on."""
        if demonstration.moment is not None and demonstration.moment == self._wanted:
            self.policy.switch(demonstration)

    def set_moments(self, moments: tuple[SnapshotInfo, ...]) -> None:
        """The slider stays where it stands: live, or at the same policy as far as it is still kept."""
        at = self.moment
        self._moments = moments
        self.slider.blockSignals(True)
        self.slider.setMaximum(len(moments))
        self.slider.setValue(moments.index(at) if at in moments else len(moments))
        self.slider.blockSignals(False)
        self.slider.setEnabled(bool(moments))
        if at is not None and at not in moments:
            self.go_live()

    def step(self, by: int) -> None:
        self.slider.setValue(self.slider.value() + by)

    def hide_figures(self, on: bool) -> None:
        """Whether nothing is said of the task's measure."""
        self._hides_figures = on
        moment = self.moment
        if self.shown and self.shown.moment == self._wanted:
            self._tell(self.shown)
        else:
            self._say(self.title.text(), moment.measure if moment else None)

    def go_live(self) -> None:
        self.slider.setValue(len(self._moments))
        self._on_settled()

    def give_up(self) -> None:
        """What was asked for can't be shown: back to live, and nothing is asked for instead."""
        self.slider.setValue(len(self._moments))
        self._settled.stop()
        self._asked = None
        self._say("The policy, live", None)
        if self.live:
            self.policy.switch(self.live)

    def halt(self) -> None:
        self.policy.halt()

    def resume(self) -> None:
        self.policy.resume()

    def _on_moved(self) -> None:
        moment = self.moment
        self._say("Back to the present" if moment is None else _beginning(moment), moment.measure if moment else None)
        self._settled.start()

    def _on_settled(self) -> None:
        self._settled.stop()
        wanted = self._wanted
        if wanted != self._asked:
            self._asked = wanted
            self.moment_chosen.emit(wanted)
        if wanted is None and self.live:
            self.policy.switch(self.live)
        elif self.shown:
            self._tell(self.shown)

    def _tell(self, shown: Demonstration) -> None:
        """Of what is on screen, unless something else has been asked for."""
        if shown.moment != self._wanted:
            return
        now = f"The policy now, after {shown.env_steps:,} steps"
        self._say(_beginning(shown.moment) if shown.moment else now, shown.figure)

    def _say(self, title: str, value: float | None) -> None:
        """value: of the measure; nan or None where it is not known."""
        self.title.setText(title)
        self.slider.setAccessibleDescription(title)
        if value is None or math.isnan(value) or self._hides_figures:
            self.figure.clear()
        else:
            self.figure.setText(f"{self._measure_title}: {format_number(value)}")


def _beginning(moment: SnapshotInfo) -> str:
    return moment.caption[0].upper() + moment.caption[1:]
