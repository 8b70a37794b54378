"""Handlers of the commands for watching: earlier policies, demo mode, and the progress of films."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QMessageBox

from app.clips.clip_pair import ClipPair
from app.keys.commands import Command
from app.keys.key_map import KeyMap
from app.live.live_view import LiveView
from app.session.controller import Controller
from app.windows.banner import FilmProgress
from app.windows.demo import DemoWindow
from core.types import Teacher

VOTE_QUESTION = "Let the audience vote?"
VOTE_REACH = (
    "Anyone on this computer's network who sees the address on screen can open the voting page until you end voting or"
    " leave full screen."
)


class WatchingCommands(QObject):
    """`handlers` has a function for each command; `left` follows when demo mode ends."""

    left = Signal()

    def __init__(
        self,
        controller: Controller,
        clips: ClipPair,
        live: LiveView,
        film_bar: FilmProgress,
        keys: Callable[[], KeyMap],
    ) -> None:
        super().__init__(controller)
        self._controller, self._clips, self._live, self._keys = controller, clips, live, keys
        self.demo: DemoWindow | None = None
        self._clips_played, self._pair_before = False, clips.shown
        self.handlers: dict[Command, Callable[[], object]] = {
            Command.EARLIER_POLICY: lambda: live.step(-1),
            Command.LATER_POLICY: lambda: live.step(1),
            Command.NEWEST_POLICY: live.go_live,
            Command.DEMO: self.open_demo,
            Command.SELF_RUNNING_DEMO: lambda: self.open_demo(self_running=True),
            Command.VOTE: self.ask_to_vote,
        }
        past, replays, films = controller.policy_history, controller.replays, controller.film_export
        past.snapshots_changed.connect(live.set_snapshots)
        live.snapshot_chosen.connect(replays.show)
        replays.replay_drawn.connect(live.set_replay)
        replays.replay_refused.connect(lambda _: live.cancel_replay())
        films.progressed.connect(film_bar.set_share)
        for ended in (films.made, films.failed):
            ended.connect(lambda _: film_bar.hide())
        film_bar.cancel_requested.connect(films.cancel)

    def open_demo(self, self_running: bool = False) -> None:
        """Open demo mode and pause the playback of the main window. self_running: the oracle answers."""
        if self.demo is not None:
            return
        self._clips_played, self._pair_before = self._clips.clock.playing, self._clips.shown
        self.demo = DemoWindow(self._controller, self._keys())
        self.demo.left.connect(self._on_left)
        self.demo.vote_requested.connect(self.ask_to_vote)
        if acting := self._live.live or self._live.policy.shown:
            self.demo.side.now.play_next(acting)
        self._pause_playback()
        for shown in (self._controller.labelling.pair_shown, self._controller.demonstrations.demonstration_drawn):
            shown.connect(self._pause_playback)
        if screen := self._clips.screen():
            self.demo.setGeometry(screen.geometry())  # the main window's screen, even without a window manager
        self.demo.showFullScreen()
        if self_running:
            self._controller.labelling.set_teacher(Teacher.ORACLE)

    def ask_to_vote(self) -> None:
        """Ask whether guests may vote over the network, and start the votes if so; stop them if they are on."""
        votes = self._controller.votes
        if votes.on:
            votes.stop()
            return
        box = QMessageBox(self.demo or self._clips.window())
        box.setWindowTitle("Somersault")
        box.setIcon(QMessageBox.Icon.Question)
        box.setText(VOTE_QUESTION)
        box.setInformativeText(VOTE_REACH)
        box.setStandardButtons(QMessageBox.StandardButton.Yes | QMessageBox.StandardButton.Cancel)
        box.button(QMessageBox.StandardButton.Yes).setText("&Start voting")
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.accepted.connect(self._start_votes)
        box.open()

    def _start_votes(self) -> None:
        self.open_demo()
        self._controller.votes.start()

    def leave_demo(self) -> None:
        if self.demo is not None:
            self.demo.close()

    def _pause_playback(self, *_: object) -> None:
        self._clips.clock.halt()
        self._live.policy.clock.halt()

    def _on_left(self) -> None:
        self._controller.votes.stop()
        if self.demo is not None:
            self.demo.deleteLater()  # hidden only, it would keep drawing the policy
        self.demo = None
        for shown in (self._controller.labelling.pair_shown, self._controller.demonstrations.demonstration_drawn):
            shown.disconnect(self._pause_playback)
        if self._clips.shown and (self._clips_played or self._clips.shown is not self._pair_before):
            self._clips.clock.resume()  # a new pair plays
            self._clips.playback_changed.emit()
        if self._live.policy.shown:
            self._live.policy.clock.resume()
        if (snapshot := self._live.wanted) is not None:  # demo mode may have requested another in its place
            self._controller.replays.show(snapshot)
        elif self._live.live is not None:  # demo mode has shown newer ones
            self._live.policy.play_now(self._live.live)
        self.left.emit()
