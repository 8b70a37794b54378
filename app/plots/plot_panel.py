"""All plots of a session, in tabs. They pull from the metrics when told to; what can't be seen is not drawn."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.labelling.true_reward_visibility import TrueRewardVisibility
from app.plots.plot import Plot
from app.plots.plot_specs import PlotSpec, groups
from app.session.metrics_recorder import EpisodeRewards
from core.config import RewardConfig
from core.metrics import Metrics
from core.tasks.base import Task


class PlotPanel(QTabWidget):
    """One tab for each group. Each plot can have a window of its own.

    Signals:
        save_requested(str, object): as of Plot.
    """

    save_requested = Signal(str, object)

    def __init__(
        self, task: Task, reward: RewardConfig, true_reward: TrueRewardVisibility, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._true_reward = true_reward
        self._metrics, self._episode = Metrics(), EpisodeRewards.empty()
        self._next = 0
        self.by_key: dict[str, Plot] = {}
        self.enlarged: dict[str, EnlargedPlot] = {}
        self.setAccessibleName("Plots of the training")
        self.setDocumentMode(True)
        self.tabBar().setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its arrow keys would be answers
        self.tabBar().setAccessibleName("Groups of plots")
        for name, group in groups(task, reward).items():
            self.addTab(self._column(group), name)
        true_reward.hidden_changed.connect(self._on_hidden_changed)

    def _column(self, group: tuple[PlotSpec, ...]) -> QScrollArea:
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 6, 0, 0)
        column.setSpacing(4)
        for plotted in group:
            column.addWidget(self._made(plotted), 1)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(inside)
        return area

    def _made(self, plotted: PlotSpec) -> Plot:
        plot = Plot(plotted, self._true_reward.hidden)
        plot.save_requested.connect(self.save_requested)
        plot.enlarge_requested.connect(lambda: self.enlarge(plotted))
        self.by_key[plotted.key] = plot
        return plot

    def show_group(self, index: int) -> None:
        """Brings a tab to the front, and its first plot to the keys."""
        self.setCurrentIndex(index)
        next(plot for plot in self.by_key.values() if plot.isVisible()).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def enlarge(self, plotted: PlotSpec) -> None:
        """In a window of its own, zoomed by itself; a second request brings that to the front."""
        if plotted.key not in self.enlarged:
            made = EnlargedPlot(plotted, self._true_reward.hidden, self.window())
            made.plot.save_requested.connect(self.save_requested)
            made.finished.connect(lambda: self.enlarged.pop(plotted.key, None))
            self.enlarged[plotted.key] = made
            self._feed(made.plot)
            made.show()
            made.plot.setFocus()
        self.enlarged[plotted.key].raise_()
        self.enlarged[plotted.key].activateWindow()

    def close_windows(self) -> None:
        for window in list(self.enlarged.values()):
            window.close()

    def refresh(self, metrics: Metrics, episode: EpisodeRewards) -> bool:
        """Draws the next plot that has news: all at once would cost the clips a frame. Whether there was one."""
        self._metrics, self._episode = metrics, episode
        plots = self._all()
        for plot in plots:
            self._feed(plot)
        self._next %= len(plots)
        for place in (*range(self._next, len(plots)), *range(self._next)):
            if plots[place].draw_news():
                self._next = place + 1
                return True
        return False

    def _feed(self, plot: Plot) -> None:
        plot.take(self._episode if plot.plotted.of_episode else self._metrics)

    def _all(self) -> list[Plot]:
        return [*self.by_key.values(), *(window.plot for window in self.enlarged.values())]

    def _on_hidden_changed(self, on: bool) -> None:
        for plot in self._all():
            plot.hide_true_reward(on)


class EnlargedPlot(QDialog):
    """One plot, large. Escape closes it; teaching goes on beside it."""

    def __init__(self, plotted: PlotSpec, hidden: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"{plotted.title} – Somersault")
        self.plot = Plot(plotted, hidden, alone=True)
        row = QHBoxLayout()
        row.addStretch(1)
        actions = (
            ("&Fit everything", self.plot.canvas.fit),
            ("Save as &picture…", self.plot.save_picture),
            ("Save the fi&gures…", self.plot.save_figures),
        )
        for text, slot in actions:
            made = QPushButton(text, autoDefault=False)
            made.clicked.connect(lambda _, slot=slot: slot())
            row.addWidget(made)
        column = QVBoxLayout(self)
        column.addWidget(self.plot, 1)
        column.addLayout(row)
