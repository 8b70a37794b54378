"""The main window of a session: clips, key hints, figures, progress panel, menus."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QToolBar,
    QToolButton,
    QWidget,
)

from app import settings
from app.clips.idle_pause import IdlePause
from app.keys.actions import Actions
from app.keys.commands import COMMANDS, Command, KeyAction
from app.keys.focus import Focus
from app.keys.key_hints import KeyHints
from app.keys.key_map import KeyMap, load_key_map, save_key_map
from app.live.live_view import LiveView
from app.menus.dialogs import ask_to_discard, dialog_handlers
from app.menus.menus import EXPORT, add_menus, file_handlers
from app.menus.playback_commands import PlaybackCommands
from app.menus.view_commands import view_handlers
from app.plots.plot_panel import PlotPanel
from app.session.controller import Controller, State
from app.style import icons
from app.style.empty_state import EmptyState
from app.style.file_dialog import ask_for_file
from app.style.labels import label, tab_button
from app.style.layouts import column, row
from app.style.message_bar import MessageBar
from app.style.toast import Toast
from app.window_state import restore, save
from app.windows.banner import Banner, FilmProgress
from app.windows.history_commands import HistoryCommands
from app.windows.pair_page import PairPage
from app.windows.play import Playing, playable
from app.windows.progress_panel import ProgressPanel
from app.windows.status_strip import StatusStrip
from app.windows.training_line import TrainingLine
from app.windows.waiting_message import explanation
from app.windows.watching_commands import WatchingCommands
from core.types import Choice, Preference, Teacher

_REFRESH_MS = 250
_MESSAGE_MS = 6000
_PANEL_MOVED = "window/panel moved"
_DOCK, _DOCK_SHARE = 390, 0.22
"""Minimum width of the progress panel in pixels, and its share of a wider window."""
_PAUSED = "Training is paused. You can keep answering."
_UNSAVED = "Training is not being saved; the program keeps trying."
_LEAST_HEIGHT = 560
"""Pixels: a longer instruction then wraps without cutting off the clips."""
_IN_PANEL = (
    *(Command.EARLIER_POLICY, Command.LATER_POLICY, Command.NEWEST_POLICY),
    *(Command.LEARNING_PLOTS, Command.REWARD_PLOTS, Command.SESSION_PLOTS),
)
"""Commands whose result is visible in the panel."""


class MainWindow(QMainWindow):
    """Shows one session.

    Signals:
        closed(): all child processes and threads have ended and the window is closed.
        start_page_requested(): show the start page; the window closes.
        start_over_requested(): begin a new session with the answers of this one; the window closes.
        quit_requested(): quit the program; the window closes.
    """

    closed = Signal()
    start_page_requested = Signal()
    start_over_requested = Signal()
    quit_requested = Signal()

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._closing = self._can_undo = self._can_redo = False
        self._panel_moved, self._pressed_width = settings.text(_PANEL_MOVED) == "yes", 0
        """True once the person has chosen the panel's width; its width when a button was pressed last."""
        self.true_reward = controller.true_reward
        self.setWindowTitle(window_title(controller))
        self.commands = Actions(load_key_map(), self)
        self.setMinimumHeight(_LEAST_HEIGHT)
        self._make_centre()
        self._make_dock()
        self._make_bars()
        export = add_menus(self, self.commands)[EXPORT]
        self.export_button.setMenu(export)
        self.playback_commands = PlaybackCommands(self.clips, self.commands)
        self.watching_commands = WatchingCommands(
            controller, self.clips, self.live, self.film_bar, lambda: self.commands.keys
        )
        self.watching_commands.left.connect(self.pair_page.ask_for_size)
        name = controller.session.folder.name
        self.playing = Playing(controller.session.config, controller.job_group.make_process, name, self)
        self.history_commands = HistoryCommands(self, controller, self.commands)
        self._handlers = self._make_handlers()
        Focus(self, self.centre)
        self._connect()
        restore(self)
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self._timer.start()
        self._on_state_changed(controller.state)
        self._on_undo_changed(can_undo=False, can_redo=False)  # until the answers are read
        self.pair_page.update_page()
        self._on_teacher_changed(controller.labelling.teacher)
        self._on_playback_changed()

    def _make_centre(self) -> None:
        self.banner, self.film_bar = Banner(), FilmProgress()
        self.paused_bar, self.unsaved_bar = MessageBar("banner", "Resume"), MessageBar("banner")
        self.instruction = label("instruction", self._controller.task.instruction, wrap=True, centred=True)
        self.empty = EmptyState()
        self.pair_page = PairPage(self._controller, self.empty)
        self.clips = self.pair_page.clips
        self.idle_pause = IdlePause(self.clips)
        self.key_hints, self.status_strip = KeyHints(self.commands.keys), StatusStrip(self._controller)
        self.training_line = TrainingLine(
            self._controller, self.commands[Command.FINISH], self.commands[Command.UNDO_FINISH]
        )
        self.centre = QWidget()
        self.toast = Toast(self.centre, self.instruction)
        bars = self.unsaved_bar, self.banner, self.paused_bar
        parts = self._make_top(), (self.pair_page, 1), self.key_hints
        column(
            *bars, *parts, self.training_line, self.status_strip, of=self.centre, margins=(20, 14, 20, 14), spacing=14
        )
        self.setCentralWidget(self.centre)

    def _make_top(self) -> QHBoxLayout:
        """The instruction; for a game also a button to play it."""
        self.play_button = tab_button("▶  Play the game yourself")
        self.play_button.setToolTip(COMMANDS[Command.PLAY_GAME].tip)
        self.play_button.setVisible(playable(self._controller.task))
        self.play_button.clicked.connect(self.commands[Command.PLAY_GAME].trigger)
        self.play_advice = label("caption", "Play for about five minutes before you answer", centred=True)
        self.play_advice.setVisible(playable(self._controller.task))
        return row((self.instruction, 1), column(self.play_button, self.play_advice, None, spacing=4))

    def _make_dock(self) -> None:
        task, config = self._controller.task, self._controller.session.config
        self.live = LiveView(task.measure_title)
        self.plots = PlotPanel(task, config.reward, self.true_reward, self._controller.session.folder.name)
        dock = QDockWidget("Progress", self)
        dock.setObjectName("progress")
        dock.setTitleBarWidget(QWidget())
        dock.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
        dock.setWidget(ProgressPanel(self.live, self.plots))
        dock.setMinimumWidth(_DOCK)
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
        self.resizeDocks([dock], [_DOCK], Qt.Orientation.Horizontal)
        panel = self.commands[Command.PROGRESS_PANEL]
        self.dock = dock
        dock.visibilityChanged.connect(lambda: panel.setChecked(not dock.isHidden()))

    def _make_bars(self) -> None:
        bar = QToolBar("Toolbar", movable=False, iconSize=QSize(18, 18))
        bar.setObjectName("toolbar")
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.addToolBar(bar)
        of = self.commands
        self.pause_action, self.stop_action = of[Command.PAUSE], of[Command.STOP]
        self.teacher_actions: dict[str, QAction] = {
            Teacher.HUMAN: of[Command.HUMAN],
            Teacher.ORACLE: of[Command.ORACLE],
        }
        for command in (Command.ORACLE, Command.HIDE_TRUE_REWARD):
            of[command].setEnabled(self._controller.task.has_true_reward)
        of[Command.PLAY_GAME].setEnabled(playable(self._controller.task))
        of[Command.START_OVER].setEnabled(False)
        bar.addActions([self.pause_action, self.stop_action])
        bar.addSeparator()
        bar.addWidget(QLabel("Teacher"))
        bar.addActions(list(self.teacher_actions.values()))
        bar.addSeparator()
        bar.addActions([of[Command.UNDO], of[Command.REDO]])
        bar.addSeparator()
        self.export_button = QToolButton()
        self.export_button.setText("Export ▾")
        self.export_button.setAccessibleName("Export")
        self.export_button.setObjectName("exportMenu")
        self.export_button.setToolTip("Export what was learned: films, plots, the session, the policy")
        self.export_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.export_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        bar.addWidget(self.export_button)
        self.playback_status = label("stages")
        for part in (self.film_bar, self.playback_status):
            self.statusBar().addPermanentWidget(part)

    def _make_handlers(self) -> dict[Command, Callable[[], object]]:
        """Functions by command. A new command needs a row in COMMANDS and a place in MENUS too."""
        labelling = self._controller.labelling
        handlers: dict[Command, Callable[[], object]] = {
            Command.UNDO: labelling.undo,
            Command.REDO: labelling.redo,
            Command.PAUSE: self._controller.pause_or_resume,
            Command.STOP: self._controller.stop,
            Command.FINISH: partial(self._in_training_line, self._controller.finish),
            Command.UNDO_FINISH: partial(self._in_training_line, self._controller.undo_finish),
            Command.HUMAN: lambda: labelling.set_teacher(Teacher.HUMAN),
            Command.ORACLE: lambda: labelling.set_teacher(Teacher.ORACLE),
            Command.START_PAGE: partial(self._leave, self.start_page_requested.emit),
            Command.START_OVER: partial(self._leave, self.start_over_requested.emit),
            Command.QUIT: partial(self._leave, self.quit_requested.emit),
            Command.PROGRESS_PANEL: lambda: self.dock.setVisible(self.commands[Command.PROGRESS_PANEL].isChecked()),
            Command.PLAY_GAME: self.playing.open,
            **self.playback_commands.handlers,
            **self.watching_commands.handlers,
            **view_handlers(self.plots, self.true_reward, self.commands),
            **dialog_handlers(self, self.commands, self.set_keys),
            **self.history_commands.handlers,
            **file_handlers(self, self._controller, self.plots),
        }
        return {**handlers, **{command: partial(self._in_panel, handlers[command]) for command in _IN_PANEL}}

    def _in_panel(self, handler: Callable[[], object]) -> None:
        """Show the panel, then run a command whose result is visible in it."""
        self.dock.show()
        handler()

    def _connect(self) -> None:
        controller, labelling = self._controller, self._controller.labelling
        controller.state_changed.connect(self._on_state_changed)
        controller.job_failed.connect(self.banner.show_failure)
        controller.job_failed.connect(lambda: QApplication.alert(self.watching_commands.demo or self))
        controller.trouble_arose.connect(self._show_trouble)
        controller.succeeded.connect(self.toast.show_message)
        controller.demonstrations.demonstration_drawn.connect(self.live.set_live)
        controller.demonstrations.forgotten.connect(self.live.forget_live)
        self.live.picture_resized.connect(controller.set_live_pixels)
        self.idle_pause.rest_changed.connect(self.live.set_resting)
        controller.stopped.connect(self._on_stopped)
        self.pair_page.page_updated.connect(self._on_page_updated)
        labelling.answer_kept.connect(self._on_answer_kept)
        labelling.answer_restored.connect(self._on_answer_restored)
        labelling.preference_writer.undo_changed.connect(self._on_undo_changed)
        labelling.teacher_changed.connect(self._on_teacher_changed)
        self.true_reward.hidden_changed.connect(self._on_hidden_changed)
        self._on_hidden_changed()
        self.plots.save_requested.connect(self._on_save_requested)
        self.clips.playback_changed.connect(self._on_playback_changed)
        self.key_hints.action_requested.connect(self.run_action)
        self.commands.action_requested.connect(self.run_action)
        self.banner.restart_requested.connect(controller.restart)
        self.banner.quit_requested.connect(partial(self._leave, self.quit_requested.emit))
        for changed in (controller.checkpointer.saved, controller.checkpointer.refused):
            changed.connect(self._show_unsaved)
        self.paused_bar.buttons[0].clicked.connect(lambda: controller.pause(False))

    def run_action(self, action: KeyAction) -> None:
        """Answer the pair, or run the handler of a command."""
        if isinstance(action, Choice):
            self._controller.labelling.answer(action)
        else:
            self._handlers[action]()
        if not self._controller.labelling.idle:
            self._on_undo_changed(self._can_undo, self._can_redo)

    def set_keys(self, keys: KeyMap) -> None:
        """Use and save these keys."""
        save_key_map(keys)
        self.commands.set_keys(keys)
        self.key_hints.set_keys(keys)

    def refresh(self) -> None:
        """Update figures, plots and the waiting message; called several times a second."""
        self.status_strip.refresh()
        self.plots.refresh(self._controller.metrics, self._controller.episode)
        self.training_line.refresh()
        self.commands[Command.START_OVER].setEnabled(self._controller.progress.usable > 0)
        self._controller.demonstrations.wanted = not self.dock.isHidden() or self.watching_commands.demo is not None
        if not self.pair_page.has_pair:
            self.empty.set_message(*explanation(self._controller))

    def event(self, event: QEvent) -> bool:
        """Record that the person has moved the panel's edge, the only part of the window itself that reacts to the mouse."""
        if event.type() == QEvent.Type.MouseButtonPress:
            self._pressed_width = self.dock.width()
        elif event.type() == QEvent.Type.MouseButtonRelease and self.dock.width() != self._pressed_width:
            self._panel_moved = True
            settings.keep(_PANEL_MOVED, "yes")
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        before, now = event.oldSize().width(), event.size().width()
        if before not in (-1, now) and not self._panel_moved:
            self.resizeDocks([self.dock], [_panel_width(now)], Qt.Orientation.Horizontal)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            icons.restyle(self)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop the session at the first request; the window closes when the session has stopped."""
        if self._closing and self._controller.state == State.STOPPED:
            event.accept()
            return
        event.ignore()
        loss = self._controller.unsaved_reason or self._controller.unfinished_files
        if event.spontaneous() and not self._closing and loss:
            self._leave()  # the window manager closes it, and the person can be asked
        elif not self._closing:
            self._closing = True
            self._close_others()
            save(self)
            self._controller.stop_for_exit()
            event.setAccepted(self._controller.state == State.STOPPED)  # it had already stopped

    def _on_stopped(self) -> None:
        if self._closing:
            self._timer.stop()
            self._close_others()  # one may have been opened while the last checkpoint was being written
            self.history_commands.close()
            self.clips.show_pair(None)
            self.live.policy.clock.halt()
            self.plots.close_windows()
            self._controller.close()
            self.close()
            self.closed.emit()

    def _close_others(self) -> None:
        self.watching_commands.leave_demo()
        self.playing.close()

    def _on_page_updated(self, has_pair: bool) -> None:
        self.key_hints.enable_choices(has_pair)
        self.empty.set_message(*explanation(self._controller))

    def _on_answer_kept(self, preference: Preference) -> None:
        if preference.labeller != Teacher.ORACLE:  # while the oracle answers the notice may be unread
            self.banner.clear_notice()
        self._on_undo_changed(can_undo=True, can_redo=True)  # until the disk says whether the answer was redone
        predicted = preference.query.predicted if self.playback_commands.shows_predictions else ()
        self.clips.flash(preference.choice, predicted)
        self.status_strip.refresh()

    def _on_answer_restored(self, preference: Preference) -> None:
        name = COMMANDS[preference.choice].name
        self.statusBar().showMessage(f"Restored the answer “{name}”; its pair is not on screen.", _MESSAGE_MS)
        self.status_strip.refresh()

    def _on_undo_changed(self, can_undo: bool, can_redo: bool) -> None:
        """Enable Undo and Redo where possible, and both while an answer is being written: its result is not known yet.

        Nothing is possible while the session is stopped.
        """
        labelling = self._controller.labelling
        self._can_undo, self._can_redo = can_undo, can_redo
        can_undo, can_redo = ((can or not labelling.idle) and labelling.open for can in (can_undo, can_redo))
        self.commands[Command.UNDO].setEnabled(can_undo)
        self.commands[Command.REDO].setEnabled(can_redo)
        self.key_hints.enable_undo(can_undo)

    def _show_trouble(self, sentence: str) -> None:
        """Show a sentence in the banner, or in the status bar if the banner shows a failure; update Undo and Redo."""
        if self.banner.shows_failure:
            self.statusBar().showMessage(sentence, _MESSAGE_MS)
        else:
            self.banner.show_notice(sentence)
        self._on_undo_changed(self._can_undo, self._can_redo)

    def _on_playback_changed(self) -> None:
        self.playback_status.setText(self.playback_commands.status_text)

    def _on_teacher_changed(self, teacher: str) -> None:
        self.teacher_actions[teacher].setChecked(True)

    def _on_state_changed(self, state: str) -> None:
        text, icon = {State.PAUSED: ("&Resume", "play"), State.STOPPED: ("St&art", "play")}.get(
            State(state), ("&Pause", "pause")
        )
        self.commands.rename(Command.PAUSE, text)
        icons.set_icon(self.pause_action, icon)
        self.pause_action.setEnabled(state in (State.RUNNING, State.PAUSED, State.STOPPED))
        self.paused_bar.show_message(_PAUSED if state == State.PAUSED else "", "notice")
        self.setWindowTitle(window_title(self._controller))
        self._on_undo_changed(self._can_undo, self._can_redo)
        self.stop_action.setEnabled(state not in (State.STOPPING, State.STOPPED))
        if state in (State.RUNNING, State.STOPPED):
            self.banner.clear_failure()
        self._show_unsaved()

    def _show_unsaved(self) -> None:
        """Show the bar while training can't be saved."""
        reason = self._controller.unsaved_reason
        sentence = reason and f"{_UNSAVED} {reason}"
        if sentence != self.unsaved_bar.text.text():
            self.unsaved_bar.show_message(sentence)

    def _on_hidden_changed(self) -> None:
        self.live.hide_figures(self.true_reward.hides(self._controller.task))

    def _on_save_requested(self, plot: QWidget, name: str, content: Callable[[], bytes]) -> None:
        """Ask over the plot's own window, which is in front again afterwards."""
        ask_for_file(plot.window(), "Save", name, lambda target: self._controller.file_tasks.write(target, content))

    def _leave(self, tell: Callable[[], object] = lambda: None) -> None:
        """Close the window; ask first if training or files would be lost. tell: called before it closes"""

        def leave() -> None:
            tell()
            self.close()

        controller = self._controller
        unsaved, files = bool(controller.unsaved_reason), controller.unfinished_files
        if unsaved or files:
            ask_to_discard(self, unsaved, files, leave)
        else:
            leave()

    def _in_training_line(self, handler: Callable[[], object]) -> None:
        """Run a command, and show its result in the training line at once."""
        handler()
        self.training_line.refresh(at_once=True)


def window_title(controller: Controller) -> str:
    """Return the title of a session's window: its name, "(paused)" if training is paused, and its task."""
    paused = " (paused)" if controller.state == State.PAUSED else ""
    return f"{controller.session.folder.name}{paused} – {controller.task.title} – Somersault"


def _panel_width(window: int) -> int:
    """Return the width of the progress panel in a window of this width, in pixels, unless the person has moved its edge."""
    return max(_DOCK, round(_DOCK_SHARE * window))
