"""Demo mode: the session full screen for an audience. Guests answer with four keys, or the oracle answers.

A second view of the same controller. Qt 6 has no game pad support (QtGamepad ended with Qt 5.15), so guests use the
keyboard; a game pad configured to press arrow keys works as well.
"""

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QInputDialog, QLabel, QWidget

from app.keys.commands import Command, KeyAction
from app.keys.key_map import KeyMap, key_symbol
from app.keys.shortcuts import bind
from app.labelling.guests import Guests
from app.labelling.labelling import FLASH_MS
from app.session.controller import Controller, State
from app.start_page.goals import goal
from app.style.labels import label
from app.style.layouts import column, row
from app.voting.panel import VoteBars, VoteCode
from app.windows.demo_side import DemoSide
from app.windows.key_tile import KeyTile
from app.windows.pair_page import PairPage
from app.windows.waiting_message import explanation, what_is_saved
from core.errors import UserError
from core.types import Choice, Preference, Teacher

_REFRESH_MS = 250
_RESTART_MS, _LONGEST_RESTART_MS = 2000, 60_000
"""Time before training that failed restarts automatically, doubled after each failure until an answer is given."""
_NEXT_GUEST = "F2"
_TILES = (Choice.LEFT, Choice.TIE, Choice.CANT_TELL, Choice.RIGHT)
_QUESTION = "Which is better?"
_DETAILS = {
    State.FAILED: "It will restart automatically.",
    State.PAUSED: "The presenter can resume training.",
}
"""Texts that replace the main window's buttons, which this window lacks."""
_ORACLE_ANSWERS, _ORACLE_RESTS = "The computer is choosing", "The computer has stopped answering"
_DESIGNED = 1280, 720
"""Screen size in pixels that all sizes refer to; they scale with the screen."""
_SIZES = {
    "title": 19,
    "question": 36,
    "instruction": 17,
    "headline": 34,
    "detail": 20,
    "count": 42,
    "unit": 18,
    "foot": 13,
    "legend": 13,
}
"""Font sizes in pixels."""
_BOLD = ("question", "headline", "count")


class DemoWindow(QWidget):
    """Demo mode: a session in full screen, until Esc or F11. Closing it restores the teacher.

    Signals:
        left(): the window was closed; the session continues.
        vote_requested(): the presenter asks to start or stop the votes of the audience.
    """

    left = Signal()
    vote_requested = Signal()

    def __init__(self, controller: Controller, keys: KeyMap) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self._controller, self._keys = controller, keys
        controller.labelling.teacher_after_demo = controller.labelling.teacher
        self.code: VoteCode | None = None
        """The code for the audience's phones, while it votes."""
        self._verdict = ""
        """Latest choice of the audience, shown after the title."""
        self._before: str = controller.state
        """State of the session before its next change."""
        self.guests = Guests()
        self.setWindowTitle(f"{controller.session.folder.name} – {controller.task.title} – Somersault")
        self.setObjectName("demo")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._make_widgets()
        for child in self.findChildren(QWidget):
            child.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # four keys are all that is needed
        self._make_keys()
        self._connect()
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self._timer.start()
        self.flash_timer = QTimer(self, singleShot=True, interval=FLASH_MS)
        self.flash_timer.timeout.connect(self._clear_tiles)
        self.restart_timer = QTimer(self, singleShot=True, interval=_RESTART_MS)
        self.restart_timer.timeout.connect(self._restart)
        if controller.state == State.FAILED:
            self.restart_timer.start()
        self.clips.show_pair(controller.labelling.pairs.shown)
        self.pair_page.update_page()
        self.refresh()

    def _make_widgets(self) -> None:
        self.side = DemoSide(self._controller)
        self.headline, self.detail = self._label("headline", wrap=True), self._label("detail", wrap=True)
        waiting_page = QWidget()
        column(None, self.headline, self.detail, None, of=waiting_page)
        self.question = self._label("question")
        self.pair_page = PairPage(self._controller, waiting_page)
        self.clips = self.pair_page.clips
        self.tiles = {choice: self._make_tile(choice, choice.capitalize()) for choice in _TILES}
        self._grid = QGridLayout(self)
        self.title = self._label("title", wrap=True)
        self.instruction = self._label("instruction", wrap=True)
        self._grid.addLayout(column(self.title, self.question, self.instruction), 0, 0, 1, 2)
        self._grid.addWidget(self.pair_page, 1, 0)
        self._side = column(self.side)
        self._grid.addLayout(self._side, 1, 1, 2, 1)
        self._row = row(*self.tiles.values())
        self._grid.addLayout(self._row, 2, 0)
        self.bars = VoteBars()
        self.bars.hide()
        self._grid.addWidget(self.bars, 2, 0)
        self.notice, self.hints = self._label("foot", wrap=True), self._label("foot", self._hint_text, wrap=True)
        self._grid.addLayout(column(self.notice, self.hints, spacing=0), 3, 0, 1, 2)
        self._grid.setRowStretch(1, 62)
        self._grid.setRowStretch(2, 18)
        self._grid.setColumnStretch(0, 68)
        self._grid.setColumnStretch(1, 32)

    def _label(self, name: str, text: str = "", wrap: bool = False) -> QLabel:
        return label(f"demo{name.capitalize()}", text, wrap=wrap, centred=True)

    def _make_tile(self, choice: Choice, name: str) -> KeyTile:
        tile = KeyTile(key_symbol(self._keys.keys_for(choice)[0]), name, choice)
        tile.clicked.connect(lambda: self.answer(choice))
        return tile

    def _make_keys(self) -> None:
        slots: dict[KeyAction, Callable[[], object]] = {
            **{choice: partial(self.answer, choice) for choice in Choice},
            Command.UNDO: self._controller.labelling.undo,
            Command.REDO: self._controller.labelling.redo,
            Command.PLAYBACK: self.clips.toggle_playback,
            Command.RESTART_CLIPS: self.clips.restart,
            Command.HUMAN: partial(self._controller.labelling.set_teacher, Teacher.HUMAN),
            Command.ORACLE: self._let_oracle_answer,
            Command.PAUSE: self._controller.pause_or_resume,
            Command.VOTE: self.vote_requested.emit,
            Command.DEMO: self.close,
        }
        keyed = [(self._keys.keys_for(action), slot) for action, slot in slots.items()]
        fixed = (("Esc",), self.close), ((_NEXT_GUEST,), self._ask_for_guest)
        bind(self, [*keyed, *fixed], Qt.ShortcutContext.WindowShortcut)

    @property
    def _hint_text(self) -> str:
        """Text at the foot of the screen, for the presenter."""
        voting = self._controller.votes.on
        answer = ("You answer", Choice.LEFT, Choice.TIE, Choice.RIGHT) if voting else ("Guests answer", Command.HUMAN)
        vote = self._hint("End voting" if voting else "Audience votes", Command.VOTE)
        hints = [self._hint(*answer), vote, self._hint("Undo", Command.UNDO)]
        if self._controller.task.has_true_reward and not voting:
            hints.insert(0, self._hint("Computer answers", Command.ORACLE))
        if self._controller.state == State.PAUSED:
            hints.append(self._hint("Resume training", Command.PAUSE))
        guest = "" if voting else f"{_NEXT_GUEST} Next guest (now {self.guests.name})"
        return "      ".join(filter(None, [*hints, guest, "Esc Leave"]))

    def _hint(self, name: str, *actions: KeyAction) -> str:
        """Return the first key of each action, followed by `name`; '' if an action has no key."""
        keys = [self._keys.keys_for(action) for action in actions]
        return f"{' '.join(key_symbol(found[0]) for found in keys)} {name}" if all(keys) else ""

    def _let_oracle_answer(self) -> None:
        """Let the oracle answer, unless the audience votes: its votes would be lost."""
        if not self._controller.votes.on:
            self._controller.labelling.set_teacher(Teacher.ORACLE)

    def _connect(self) -> None:
        controller, labelling = self._controller, self._controller.labelling
        self.pair_page.page_updated.connect(self._on_page_updated)
        labelling.answer_kept.connect(self._on_answer_kept)
        labelling.answer_withdrawn.connect(self._on_answer_withdrawn)
        labelling.teacher_changed.connect(self._update_question)
        controller.trouble_arose.connect(self.notice.setText)
        controller.job_failed.connect(self._on_job_failed)
        controller.state_changed.connect(self._on_state_changed)
        controller.votes.opened.connect(self._show_votes)
        controller.votes.votes_changed.connect(self.bars.set_votes)
        controller.votes.ended.connect(self._hide_votes)
        self.side.ask_for_before()

    def _show_votes(self, url: str) -> None:
        """Show the code in place of the policies, and bars in place of the keys."""
        self._hide_votes("")
        self.code = VoteCode(url)
        self._side.insertWidget(0, self.code, 1)
        self.side.show_counters_only(True)  # phones at the back of a room read the code, too
        for tile in self.tiles.values():
            tile.hide()
        self.bars.show()
        self.hints.setText(self._hint_text)

    def _hide_votes(self, why: str) -> None:
        if self.code is not None:
            self._side.removeWidget(self.code)
            self.code.deleteLater()
            self.code = None
            self.side.show_counters_only(False)
        self.bars.hide()
        self._verdict = ""
        for tile in self.tiles.values():
            tile.show()
        self.hints.setText(self._hint_text)
        if why:
            self.notice.setText(why)

    def answer(self, choice: Choice) -> None:
        """Give a guest's answer, or the presenter's while the audience votes; either takes over from the oracle."""
        labeller = Teacher.HUMAN if self._controller.votes.on else self.guests.labeller
        self._controller.labelling.set_teacher(Teacher.HUMAN)
        self._controller.labelling.answer(choice, labeller)

    def _ask_for_guest(self) -> None:
        """Ask for the name of the next guest, unless the audience votes. The answers so far keep their guest."""
        if self._controller.votes.on:
            return
        dialog = QInputDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle("Next guest")
        dialog.setLabelText("Name of the guest who answers next:")
        dialog.setTextValue(self.guests.next_name)
        dialog.textValueSelected.connect(self._on_guest_named)
        dialog.open()

    def _on_guest_named(self, name: str) -> None:
        try:
            self.guests.welcome(name)
        except UserError as error:
            self.notice.setText(str(error))
        self.hints.setText(self._hint_text)

    def refresh(self) -> None:
        """Update the figures; called several times a second."""
        self.side.refresh()
        self.title.setText(f"{self._controller.task.title}{self._special_state}{self._verdict}")
        self._update_question()
        if not self.pair_page.has_pair:
            headline, detail = explanation(self._controller)
            state = self._controller.state
            detail = what_is_saved(self._controller) if state == State.STOPPED else _DETAILS.get(state, detail)
            self.headline.setText(headline)
            self.detail.setText(detail)

    @property
    def _special_state(self) -> str:
        """Text after the title in place of the main window's bars; '' while training runs as usual."""
        voting, course = self._controller.votes.on, self._controller.course
        if self._controller.state == State.PAUSED:
            return "  ·  training and voting are paused" if voting else "  ·  training is paused"
        if self._controller.state == State.FAILED and self.pair_page.has_pair:  # else the page without a pair says so
            return "  ·  training has stopped and will restart automatically"
        ends = "voting resumes after the presenter's answer" if voting else "an answer ends this"
        if course.finished and voting:
            return "  ·  training is finished (the presenter's answer resumes training and voting)"
        return "" if course.finishing is None else f"  ·  finishing training: {100 * course.finishing:.0f}% ({ends})"

    def resizeEvent(self, event: QResizeEvent) -> None:
        scale = min(self.width() / _DESIGNED[0], self.height() / _DESIGNED[1])
        self.setStyleSheet("".join(_font_rule(name, scale) for name in _SIZES))  # a new palette would reset plain fonts
        margin = round(20 * scale)
        self._grid.setContentsMargins(round(1.6 * margin), margin, round(1.6 * margin), round(0.5 * margin))
        self._grid.setHorizontalSpacing(round(28 * scale))
        self._grid.setVerticalSpacing(round(12 * scale))
        self._row.setSpacing(round(14 * scale))
        self.side.set_scale(scale)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._timer.stop()
        self.flash_timer.stop()
        self.bars.halt()
        self.restart_timer.stop()
        self.clips.show_pair(None)
        self.side.close_players()
        labelling = self._controller.labelling
        before, labelling.teacher_after_demo = labelling.lasting_teacher, None
        labelling.set_teacher(before)
        event.accept()
        self.left.emit()

    def _clear_tiles(self) -> None:
        for tile in self.tiles.values():
            tile.set_lit(False)

    def _on_page_updated(self, has_pair: bool) -> None:
        for tile in self.tiles.values():
            tile.setEnabled(has_pair)

    def _on_answer_kept(self, preference: Preference) -> None:
        self.guests.note_answer(preference.labeller)
        self.restart_timer.setInterval(_RESTART_MS)
        if preference.labeller != Teacher.ORACLE:  # a message stays until a person answers
            self.notice.clear()
        self._verdict = ""
        if self._controller.votes.decided:
            votes = self.bars.counts
            count, total, most = votes.get(preference.choice, 0), sum(votes.values()), max(votes.values(), default=0)
            name = "a tie" if preference.choice == Choice.TIE else preference.choice
            won = f"{name}, {count} of {total}"
            chosen = won if 0 < count == most else "neither clip: a tie"
            self._verdict = f"  ·  the audience chose {chosen}"
        self.clips.flash(preference.choice)
        self._clear_tiles()
        self.tiles[preference.choice].set_lit(True)
        self.flash_timer.start()

    def _on_answer_withdrawn(self) -> None:
        self._verdict = ""
        self.flash_timer.stop()
        self._clear_tiles()

    def _on_job_failed(self, text: str) -> None:
        """Start training again without a key press, since a show may be unattended."""
        self.notice.setText(text)
        self.restart_timer.start()

    def _restart(self) -> None:
        self.restart_timer.setInterval(min(2 * self.restart_timer.interval(), _LONGEST_RESTART_MS))
        if self._controller.state == State.FAILED:
            self._controller.restart()
        else:
            self._controller.start()

    def _on_state_changed(self, state: str) -> None:
        failed = state == State.STOPPED and self._before in (State.RESTARTING, State.STARTING)
        if failed:  # it could not be started again
            self.restart_timer.start()
        elif state == State.STOPPING:
            self.restart_timer.stop()
        elif state == State.RUNNING and self._before == State.RESTARTING:
            self.notice.setText(f"Training stopped and was restarted at {time.strftime('%H:%M:%S')}.")
        self._before = state
        self.hints.setText(self._hint_text)

    def _update_question(self) -> None:
        oracle = self._controller.labelling.teacher == Teacher.ORACLE
        task = self._controller.task
        progress = self._controller.progress
        course = self._controller.course
        stopped = self._controller.state in (State.FAILED, State.STOPPED) and not self.pair_page.has_pair
        rests = stopped or progress.gives_no_more or course.finish_asked
        self.question.setText((_ORACLE_RESTS if rests else _ORACLE_ANSWERS) if oracle else _QUESTION)
        self.instruction.setText(goal(task) if oracle else task.instruction)


def _font_rule(name: str, scale: float) -> str:
    weight = "bold" if name in _BOLD else "normal"
    size = max(9, round(_SIZES[name] * scale))
    style = "rewardLegend" if name == "legend" else f"demo{name.capitalize()}"
    return f"QLabel#{style} {{ font-size: {size}px; font-weight: {weight}; }}"
