"""All plots of a session, in tabs. A tab's plots are made when it is first shown, and only visible plots are drawn."""

import io
import zipfile
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QFrame, QPushButton, QTabWidget, QWidget

from app.labelling.true_reward_visibility import TrueRewardVisibility
from app.plots.plot import KINDS, Plot
from app.plots.plot_specs import SECONDS, STEPS, PlotSpec, groups
from app.plots.plot_text import all_x
from app.session.metrics_recorder import LABELS
from app.style.labels import press_on_enter
from app.style.layouts import column, row
from app.style.scroll_area import ScrollArea
from core.config import RewardConfig
from core.errors import UserError
from core.formatting import format_moment
from core.io.files import add_to_zip
from core.metrics import Metrics
from core.tasks.base import Task

_SCALE, _MARGIN = 54, 8
"""Widths in pixels of a scale, and of the right margin of a tab whose plots have no right scale."""


class PlotPanel(QTabWidget):
    """One tab for each group; each plot can be enlarged in its own window.

    Signals:
        save_requested(object, str, object): as in Plot.
    """

    save_requested = Signal(object, str, object)

    def __init__(self, task: Task, reward: RewardConfig, true_reward: TrueRewardVisibility, session: str) -> None:
        """session: its name, for saved pictures"""
        super().__init__()
        self._task, self._session, self._true_reward = task, session, true_reward
        self._metrics, self._episode = Metrics(), Metrics()
        self._next = 0
        self._chosen_x: tuple[float, float] | None = None
        self._made: dict[str, Plot] = {}
        """Plots of the tabs that have been shown, by key."""
        self.enlarged: dict[str, EnlargedPlot] = {}
        self.setAccessibleName("Plots of the training")
        self.setDocumentMode(True)
        self.tabBar().setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its arrow keys are answers
        self.tabBar().setAccessibleName("Groups of plots")
        self._groups = groups(task, reward)
        self._areas = [_scroll_area() for _ in self._groups]
        for area, name in zip(self._areas, self._groups, strict=True):
            self.addTab(area, name)
        self._fill_tab(0)
        self.currentChanged.connect(self._fill_tab)
        true_reward.hidden_changed.connect(self._on_hidden_changed)

    def all_plots(self) -> dict[str, Plot]:
        """Return all plots by key. Makes those of the tabs that have not been shown."""
        for index in range(self.count()):
            self._fill_tab(index)
        return self._made

    def _fill_tab(self, index: int) -> None:
        """Make the plots of a tab, unless they have been made."""
        area, group = self._areas[index], tuple(self._groups.values())[index]
        if area.widget() is not None:
            return
        inside = QWidget()
        column(*((self._make_plot(spec), 1) for spec in group), of=inside, margins=(0, 6, 0, 0), spacing=4)
        area.setWidget(inside)
        self._align(group)

    def _make_plot(self, spec: PlotSpec) -> Plot:
        plot = Plot(spec, self._true_reward.hidden)
        plot.save_requested.connect(self.save_requested)
        plot.enlarge_requested.connect(lambda: self.enlarge(spec))
        plot.heading = self._heading
        self._set_source(plot)
        if spec.axis is STEPS:
            plot.canvas.follow_x(self._chosen_x)
            plot.canvas.x_chosen.connect(self._on_x_chosen)
        if not spec.visible_curves(self._true_reward.hidden):
            plot.hide()
        self._made[spec.key] = plot
        return plot

    def show_group(self, index: int) -> None:
        self.setCurrentIndex(index)
        plot = next((plot for plot in self._made.values() if plot.isVisible()), None)
        if plot is not None:  # none is while the panel is hidden
            plot.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def enlarge(self, spec: PlotSpec) -> None:
        """Open the plot in its own window, or bring that window to the front."""
        if spec.key not in self.enlarged:
            enlarged = EnlargedPlot(spec, self._true_reward.hidden, self.window())
            enlarged.plot.save_requested.connect(self.save_requested)
            enlarged.plot.heading = self._heading
            enlarged.finished.connect(lambda: self.enlarged.pop(spec.key, None))
            self.enlarged[spec.key] = enlarged
            self._set_source(enlarged.plot)
            enlarged.show()
            enlarged.plot.setFocus()
        self.enlarged[spec.key].raise_()
        self.enlarged[spec.key].activateWindow()

    def all_files(self) -> Callable[[], bytes]:
        """Return a function that makes a zip file of every plot with points: pictures, drawings and data."""
        shown = [p for p in self.all_plots().values() if len(all_x(p.spec, p.source, self._true_reward.hidden))]
        contents = {f"{plot.spec.key}.{kind}": make for plot in shown for kind, make in plot.files().items()}

        def zipped() -> bytes:
            if not contents:
                raise UserError("There is nothing to save yet: plots appear when episodes have finished.")
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                for name, make in contents.items():
                    add_to_zip(archive, name, make())
            return packed.getvalue()

        return zipped

    def close_windows(self) -> None:
        for window in list(self.enlarged.values()):
            window.close()

    def refresh(self, metrics: Metrics, episode: Metrics) -> bool:
        """Draw the next changed plot, one per call, so that the clips do not skip a frame; True if there was one."""
        self._metrics, self._episode = metrics, episode
        plots = self._all()
        for plot in plots:
            self._set_source(plot)
        steps = metrics.snapshot(LABELS)[0]
        for plot in plots:
            if plot.spec.axis is STEPS and len(steps):
                plot.canvas.share_extent(0.0, float(steps[-1]))
        self._next %= len(plots)
        for index in (*range(self._next, len(plots)), *range(self._next)):
            if plots[index].draw_changes():
                self._next = index + 1
                return True
        return False

    def _align(self, group: tuple[PlotSpec, ...]) -> None:
        """Align the x axes of a tab's plots."""
        plots = [self._made[spec.key] for spec in group if spec.visible_curves(self._true_reward.hidden)]
        two_scales = any(c.right for p in plots for c in p.spec.visible_curves(self._true_reward.hidden))
        for plot in plots:
            plot.canvas.fix_widths(_SCALE, _SCALE if two_scales else _MARGIN)

    def _heading(self) -> tuple[str, str]:
        """Return the title of the task, and the session with its answers and steps."""
        steps, labels = self._metrics.snapshot(LABELS)
        moment = format_moment(round(labels[-1]), round(1000 * steps[-1])) if len(steps) else "at the start"
        return self._task.title, " · ".join(part for part in (self._session, moment, "Somersault") if part)

    def _on_x_chosen(self, chosen: tuple[float, float] | None) -> None:
        """Show the same part of x in the other plots over steps."""
        self._chosen_x = chosen
        for plot in self._made.values():
            if plot.spec.axis is STEPS and plot.canvas is not self.sender():
                plot.canvas.follow_x(chosen)
                plot.update_note()

    def _set_source(self, plot: Plot) -> None:
        plot.source = self._episode if plot.spec.axis is SECONDS else self._metrics

    def _all(self) -> list[Plot]:
        return [*self._made.values(), *(window.plot for window in self.enlarged.values())]

    def _on_hidden_changed(self, on: bool) -> None:
        for plot in self._all():
            plot.hide_true_reward(on)
            if plot in self._made.values():
                plot.setVisible(bool(plot.spec.visible_curves(on)))  # the others take its place
            elif not plot.spec.visible_curves(on):
                plot.window().close()
        for area, group in zip(self._areas, self._groups.values(), strict=True):
            if area.widget() is not None:
                self._align(group)


def _scroll_area() -> ScrollArea:
    area = ScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    return area


class EnlargedPlot(QDialog):
    """One plot in its own window; Escape closes it."""

    def __init__(self, spec: PlotSpec, hidden: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"{spec.title} – Somersault")
        self.plot = Plot(spec, hidden, in_window=True)
        saves = {f"Save &{kind.upper()}…": partial(self.plot.save, kind) for kind in KINDS}
        buttons = []
        for text, slot in {"Show &everything": self.plot.canvas.fit, **saves}.items():
            buttons.append(QPushButton(text, autoDefault=False))
            buttons[-1].clicked.connect(lambda _, slot=slot: slot())
        column((self.plot, 1), row(None, *buttons), of=self, margins=None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not press_on_enter(self, event):
            super().keyPressEvent(event)
