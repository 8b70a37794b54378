"""The main window: tables of actions, a place for the clips, a dock. No logic of its own."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QIcon, QKeySequence
from PySide6.QtWidgets import (
    QDockWidget,
    QLabel,
    QMainWindow,
    QMessageBox,
    QSplitter,
    QStackedWidget,
    QToolBar,
    QVBoxLayout,
    QWidget,
)

from app import assets
from app.controller import Controller, State
from app.keys import Command, KeyMap, Meaning
from app.labelling import HUMAN, ORACLE
from app.live import Demonstration
from app.menus import add_menus
from app.pairs import Pair
from app.review import Review
from app.waiting import explanation
from app.widgets.banner import Banner
from app.widgets.clip_pair import ClipPair
from app.widgets.empty_state import EmptyState
from app.widgets.key_hints import KeyHints
from app.widgets.labels import label
from app.widgets.live_view import LiveView
from app.widgets.plots import Plots
from app.widgets.status_strip import StatusStrip
from core.records import Choice, Preference

_REFRESH_MS = 250
_ABOUT = (
    "<h3>Somersault</h3><p>Teach a simulated robot a behaviour that nobody can write a reward for, by choosing the"
    " better of two short clips.</p><p>The method is that of Christiano et al., <i>Deep Reinforcement Learning from"
    " Human Preferences</i> (2017).</p>"
)


class MainWindow(QMainWindow):
    """Shows one session.

    Signals:
        closed(): every child and thread has ended and the window is gone.
    """

    closed = Signal()

    def __init__(self, controller: Controller, keys: KeyMap | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._controller, self._keys = controller, keys or KeyMap()
        self._closing = False
        self.setWindowTitle(f"{controller.task.title} – Somersault")
        self.setWindowIcon(QIcon(str(assets.path("logo.svg"))))
        self.resize(1480, 920)
        self._make_centre()
        self._make_dock()
        self._make_toolbar()
        add_menus(self, controller, self._on_about_requested)
        self.review = Review(self, controller, self._keys)
        self._make_keys()
        self._connect()
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self._timer.start()
        self._on_state_changed(controller.state)

    def _make_centre(self) -> None:
        self.banner = Banner()
        self.instruction = label("instruction", self._controller.task.instruction, wrap=True, centred=True)
        self.clips, self.empty = ClipPair(), EmptyState()
        self.place = QStackedWidget()
        self.place.addWidget(self.empty)
        self.place.addWidget(self.clips)
        self.hints, self.strip = KeyHints(self._keys), StatusStrip(self._controller)
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(20, 14, 20, 14)
        column.setSpacing(14)
        for widget, stretch in ((self.banner, 0), (self.instruction, 0), (self.place, 1), (self.hints, 0)):
            column.addWidget(widget, stretch)
        column.addWidget(self.strip)
        self.setCentralWidget(centre)

    def _make_dock(self) -> None:
        task = self._controller.task
        members = self._controller.session.config.reward.members
        self.live, self.plots = LiveView(), Plots(members, task.measure_name, task.measure_title)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setContentsMargins(10, 10, 14, 14)
        split.addWidget(self.live)
        split.addWidget(self.plots)
        split.setSizes([300, 560])
        dock = QDockWidget("Progress", self)
        dock.setTitleBarWidget(QWidget())
        dock.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
        dock.setWidget(split)
        dock.setMinimumWidth(390)
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
        self.resizeDocks([dock], [390], Qt.Orientation.Horizontal)

    def _make_toolbar(self) -> None:
        bar = QToolBar("Session", movable=False, iconSize=QSize(18, 18))
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.addToolBar(bar)
        self.pause_action = self._action("Pause", "pause", self._on_pause_requested)
        self.stop_action = self._action("Stop", "stop", self._controller.stop)
        self.undo_action = self._action("Undo", "undo", self._controller.labelling.undo)
        about = self._action("About", "about", self._on_about_requested)
        bar.addActions([self.pause_action, self.stop_action])
        bar.addSeparator()
        bar.addWidget(QLabel("Teacher"))
        bar.addActions(self._teacher_actions())
        bar.addSeparator()
        bar.addActions([self.undo_action, about])

    def _action(self, text: str, icon: str, slot: Callable[[], object]) -> QAction:
        action = QAction(QIcon(str(assets.path(f"{icon}.svg"))), text, self)
        action.triggered.connect(lambda: slot())
        return action

    def _teacher_actions(self) -> list[QAction]:
        group = QActionGroup(self)
        self.teacher_actions: dict[str, QAction] = {}
        for teacher, text in ((HUMAN, "Human"), (ORACLE, "Oracle")):
            action = QAction(text, group, checkable=True)
            action.triggered.connect(lambda _, name=teacher: self._controller.labelling.set_teacher(name))
            self.teacher_actions[teacher] = action
        self._on_teacher_changed(self._controller.labelling.teacher)
        return list(self.teacher_actions.values())

    def _make_keys(self) -> None:
        """Window-level shortcuts, so that a key works whichever widget has the focus."""
        for meaning in dict.fromkeys(self._keys.meanings.values()):
            action = QAction(str(meaning), self, autoRepeat=False)
            action.setShortcuts([QKeySequence(key) for key in self._keys.keys_for(meaning)])
            action.triggered.connect(lambda _, wanted=meaning: self.carry_out(wanted))
            self.addAction(action)

    def _connect(self) -> None:
        controller, labelling = self._controller, self._controller.labelling
        controller.state_changed.connect(self._on_state_changed)
        controller.job_failed.connect(self.banner.tell_failure)
        controller.trouble_arose.connect(self.banner.tell_notice)
        controller.demonstration_drawn.connect(self._on_demonstration_drawn)
        controller.stopped.connect(self._on_stopped)
        labelling.pair_shown.connect(self._on_pair_shown)
        labelling.pair_awaited.connect(self._on_pair_awaited)
        labelling.answer_kept.connect(self._on_answer_kept)
        labelling.trouble_arose.connect(self.banner.tell_notice)
        labelling.teacher_changed.connect(self._on_teacher_changed)
        self.clips.flash_ended.connect(self._on_flash_ended)
        self.hints.meaning_requested.connect(self.carry_out)
        self.banner.restart_requested.connect(controller.restart)
        self.banner.quit_requested.connect(self.close)

    def carry_out(self, meaning: Meaning) -> None:
        """What a key or a hint asks for."""
        match meaning:
            case Choice():
                self._controller.labelling.answer(meaning)
            case Command.UNDO:
                self._controller.labelling.undo()
            case Command.PLAYBACK:
                self.clips.toggle_playback()

    def refresh(self) -> None:
        """What is pulled a few times a second instead of being pushed."""
        self.strip.refresh()
        self.plots.refresh(self._controller.metrics)
        if self.place.currentWidget() is self.empty:
            self.empty.tell(*explanation(self._controller))

    def closeEvent(self, event: QCloseEvent) -> None:
        """The first request to close ends the session; the window goes when that is done."""
        if self._closing and self._controller.state == State.STOPPED:
            event.accept()
            return
        event.ignore()
        if not self._closing:
            self._closing = True
            self._controller.stop()

    def _on_stopped(self) -> None:
        if self._closing:
            self._timer.stop()
            self.review.close()
            self.clips.show_pair(None)
            self.live.halt()
            self._controller.close()
            self.close()
            self.closed.emit()

    def _on_pair_shown(self, pair: Pair) -> None:
        self.clips.show_pair(pair)
        self._settle()

    def _on_pair_awaited(self) -> None:
        if self.clips.flashed is None:
            self._clear()

    def _on_flash_ended(self) -> None:
        """With no pair to follow, the answered one has stayed so that its flash could be seen."""
        if self._controller.labelling.pairs.shown is None:
            self._clear()

    def _clear(self) -> None:
        self.clips.show_pair(None)
        self._settle()

    def _settle(self) -> None:
        """Clips where there are any to answer, otherwise the reason why not."""
        ended = self._controller.state in (State.STOPPING, State.STOPPED)
        self.place.setCurrentWidget(self.empty if ended or self.clips.shown is None else self.clips)
        self.hints.enable_choices(self.place.currentWidget() is self.clips)
        self.empty.tell(*explanation(self._controller))

    def _on_answer_kept(self, preference: Preference) -> None:
        self.banner.clear_notice()
        self.clips.flash(preference.choice)
        self.strip.refresh()

    def _on_demonstration_drawn(self, demonstration: Demonstration) -> None:
        self.live.take(demonstration)

    def _on_teacher_changed(self, teacher: str) -> None:
        self.teacher_actions[teacher].setChecked(True)

    def _on_state_changed(self, state: str) -> None:
        text, icon = {State.PAUSED: ("Resume", "play"), State.STOPPED: ("Start", "play")}.get(
            State(state), ("Pause", "pause")
        )
        self.pause_action.setText(text)
        self.pause_action.setIcon(QIcon(str(assets.path(f"{icon}.svg"))))
        self.pause_action.setEnabled(state in (State.RUNNING, State.PAUSED, State.STOPPED))
        self.stop_action.setEnabled(state not in (State.STOPPING, State.STOPPED))
        if state == State.RUNNING:
            self.banner.hide()
        self._settle()

    def _on_pause_requested(self) -> None:
        if self._controller.state == State.STOPPED:
            self._controller.start()
        else:
            self._controller.pause(self._controller.state == State.RUNNING)

    def _on_about_requested(self) -> None:
        box = QMessageBox(QMessageBox.Icon.NoIcon, "About Somersault", _ABOUT, QMessageBox.StandardButton.Close, self)
        box.setIconPixmap(self.windowIcon().pixmap(96, 96))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()
