"""Live view of the policy, with a slider back to its earlier snapshots."""

import math

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QToolButton, QWidget

from app.live.demonstrations import Demonstration
from app.live.jump_slider import JumpSlider
from app.live.policy_player import PolicyPlayer
from app.live.signal_values import SignalValues
from app.style.glossary import explain, help_button
from app.style.labels import ElidedLabel, label
from app.style.layouts import column, row
from core.formatting import capitalized, format_moment, format_number
from core.session.policy_snapshots import SnapshotInfo

_FRAMES_PER_VALUE = 3
"""Frames for which the values of signals stay, so that they can be read."""
_SETTLED_MS = 150
"""Time the slider must stand still before a policy is requested."""
_MARGIN = 12
"""Pixels below the label that names the policy that is being loaded."""


class LiveView(QWidget):
    """The slider shows the newest policy at its right end, and a snapshot to the left of it.

    The title and the figure are always of the episode on screen: they change with the picture.

    live: newest demonstration of the newest policy, on screen or not
    loading: label over the picture that names the policy at the slider until its picture arrives

    Signals:
        snapshot_chosen(object): the person has chosen this SnapshotInfo; None for the newest policy.
        picture_resized(float): new width of the view, in pixels of the screen.
    """

    snapshot_chosen = Signal(object)
    picture_resized = Signal(float)

    def __init__(self, measure_title: str) -> None:
        super().__init__()
        self._measure_title, self._hides_figures = measure_title, False
        self._snapshots: tuple[SnapshotInfo, ...] = ()
        self.live: Demonstration | None = None
        self._requested: SnapshotInfo | None = None
        self.title, self.figure = ElidedLabel("plotTitle", "Newest policy"), label("plotKey")
        self.figure.setToolTip(
            "The measure for the episode on screen, without exploration noise; the plot shows the mean over the latest"
            " training episodes, which have noise"
        )
        self.policy = PolicyPlayer("The policy acting", self)
        self.policy.demonstration_started.connect(self._show_caption)
        self.loading = label("readout")
        self.loading.setParent(self.policy)
        self.loading.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.loading.hide()
        self.slider = JumpSlider(Qt.Orientation.Horizontal)
        self.slider.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.slider.setMaximum(0)
        self.slider.setAccessibleName("Earlier policies")
        self.slider.setToolTip("Click or drag to watch earlier policies")
        self.slider.setEnabled(False)
        self._settled = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._settled.timeout.connect(self._on_settled)
        self.slider.valueChanged.connect(self._on_moved)
        self.show_signals = QToolButton()
        self.show_signals.setText("Signals")
        self.show_signals.setCheckable(True)
        self.show_signals.setToolTip("Show the current values of the robot's signals")
        self.show_signals.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.show_signals.hide()  # until there are signals
        self.signal_values = SignalValues()
        self.signal_values.hide()
        self.show_signals.toggled.connect(self._on_signals_toggled)
        self.policy.clock.frame_due.connect(self._on_frame)
        foot = row(label("plotKey", "start"), (self.slider, 1), label("plotKey", "newest"))
        head = row((self.title, 1), self.show_signals, help_button("newest policy"))
        column(head, self.figure, (self.policy, 1), self.signal_values, foot, of=self, spacing=4)
        explain(self, "newest policy")
        explain(self.slider, "earlier policies")

    @property
    def snapshot(self) -> SnapshotInfo | None:
        """The snapshot at the slider; None at its right end."""
        return self._snapshots[self.slider.value()] if self.slider.value() < len(self._snapshots) else None

    @property
    def wanted(self) -> SnapshotInfo | None:
        """As `snapshot`; the newest snapshot stands in for the newest policy until there is a demonstration of it."""
        if self.snapshot is None and self.live is None and self._snapshots:
            return self._snapshots[-1]
        return self.snapshot

    def set_live(self, demonstration: Demonstration) -> None:
        """Take a demonstration of the newest policy; show it next if the slider is at its right end."""
        self.live = demonstration
        if self.snapshot is None:
            self._requested = None  # a snapshot that was to be shown in its place can be chosen again
            self.loading.hide()
            self.policy.play_next(demonstration)

    def forget_live(self) -> None:
        """Stop showing the newest policy so far: training has returned to an earlier one, which is recorded first."""
        self.live = None
        shown = self.policy.shown
        if self.snapshot is None or (shown is not None and shown.snapshot is None):
            self.policy.clear()
            self.title.setText("Newest policy")
            self.show_signals.hide()
            self.signal_values.set_series({})
            self._show_figure()

    def set_replay(self, demonstration: Demonstration) -> None:
        """Show the replay of a snapshot, unless the slider has moved on."""
        if demonstration.snapshot is not None and demonstration.snapshot == self.wanted:
            self.policy.play_now(demonstration)

    def set_snapshots(self, snapshots: tuple[SnapshotInfo, ...]) -> None:
        """Set the slider's range. It stays at its right end or at its snapshot, as long as that exists."""
        at = self.snapshot
        undone = bool(self._snapshots) and (not snapshots or snapshots[-1].env_steps < self._snapshots[-1].env_steps)
        if undone:  # training has returned to an earlier checkpoint
            self.live = None
        self._snapshots = snapshots
        self.slider.blockSignals(True)
        self.slider.setMaximum(len(snapshots))
        self.slider.setValue(snapshots.index(at) if at in snapshots else len(snapshots))
        self.slider.blockSignals(False)
        self.slider.setEnabled(bool(snapshots))
        if at is not None and at not in snapshots:
            self.go_live()
        elif at is None and undone:
            self._on_settled()

    def step(self, by: int) -> None:
        self.slider.setValue(self.slider.value() + by)

    def set_resting(self, on: bool) -> None:
        """Set whether to play at half the frame rate, which saves processor time while the clips rest."""
        self.policy.clock.stride = 2 if on else 1

    def hide_figures(self, on: bool) -> None:
        """Hide or show the task's measure."""
        self._hides_figures = on
        self._show_figure()

    def go_live(self) -> None:
        self.slider.setValue(len(self._snapshots))
        self._on_settled()

    def cancel_replay(self) -> None:
        """Return to the newest policy without another request: the requested snapshot can't be shown."""
        self.slider.setValue(len(self._snapshots))
        self._settled.stop()
        self._requested = None
        self.loading.hide()
        if self.live:
            self.policy.play_now(self.live)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_loading()
        self.picture_resized.emit(self.width() * self.devicePixelRatioF())

    def _on_moved(self) -> None:
        snapshot = self.snapshot
        text = capitalized(snapshot.caption) if snapshot else "Newest policy"
        self.slider.setAccessibleDescription(text)
        self.loading.setText(text)
        self._place_loading()
        self.loading.show()
        self._settled.start()

    def _on_settled(self) -> None:
        self._settled.stop()
        wanted = self.wanted
        if wanted != self._requested:
            self._requested = wanted
            self.snapshot_chosen.emit(wanted)
        if wanted is None and self.live:
            self.policy.play_now(self.live)
        else:
            self._update_loading()

    def _on_signals_toggled(self, on: bool) -> None:
        self.signal_values.setVisible(on)
        if on and self.policy.shown:
            self.signal_values.set_series(self.policy.shown.signals)

    def _on_frame(self, index: int) -> None:
        shown = self.policy.shown
        if shown and self.signal_values.isVisible() and index % _FRAMES_PER_VALUE == 0:
            self.signal_values.show_share(index / len(shown.frames.pixels))

    def _show_caption(self, shown: Demonstration) -> None:
        """Show title, figure and signals of the episode that starts on screen."""
        self.show_signals.setVisible(bool(shown.signals))
        if self.signal_values.isVisible():
            self.signal_values.set_series(shown.signals)
        moment = format_moment(shown.labels, shown.env_steps)
        self.title.setText(capitalized(moment) if shown.snapshot else f"Newest: {moment}")
        self._show_figure()
        self._update_loading()

    def _show_figure(self) -> None:
        shown = self.policy.shown
        known = shown is not None and not math.isnan(shown.figure) and not self._hides_figures
        figure = format_number(shown.figure) if shown else ""
        self.figure.setText(f"{self._measure_title}: {figure} in this episode" if known else "")
        self.figure.setVisible(not self._hides_figures)

    def _update_loading(self) -> None:
        shown, wanted = self.policy.shown, self.wanted
        if wanted is not None:
            self.loading.setText(capitalized(wanted.caption))
            self._place_loading()
        self.loading.setVisible(wanted is not None and (shown is None or shown.snapshot != wanted))

    def _place_loading(self) -> None:
        self.loading.adjustSize()
        place = self.policy.player.geometry()
        x = place.center().x() - self.loading.width() // 2
        self.loading.move(max(0, x), place.bottom() - self.loading.height() - _MARGIN)
