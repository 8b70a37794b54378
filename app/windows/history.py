"""The answer history: a window for reviewing and changing answers while teaching continues."""

from PySide6.QtCore import QModelIndex, QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QShowEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.clips.playback_keys import bind_playback
from app.history.consistency_box import ConsistencyBox
from app.history.filter_bar import FilterBar
from app.history.preference_detail import LOADING_CLIPS, PreferenceDetail
from app.history.preference_history import Judgement
from app.history.preference_list import PreferenceList
from app.history.preference_model import TROUBLE, PreferenceModel
from app.history.preference_text import CHOICES
from app.keys.commands import Command
from app.keys.key_map import KeyMap
from app.keys.shortcuts import bind
from app.labelling.pair_queue import Pair
from app.session.controller import Controller, State
from app.style.empty_state import EmptyState
from app.style.labels import label
from app.style.layouts import column, row
from app.window_state import fitting
from core.formatting import pluralize
from core.preferences.store import PreferenceSummary
from core.types import Choice, Preference, Teacher

_SELECTION_MS = 150
"""Time an answer must stay selected before its clips are rendered; scrolling through the list renders none."""
_TICK_MS = 1500
"""Time that the confirmation of a changed choice stays over the clips."""
_LOADING = "Loading the answers", "Reading them from disk."
_NOT_RUNNING = "The clips can't be rendered now", "The session is stopped: press Start in the main window."
_FAILED = "The clips can't be rendered now", "See the message in the main window."


class HistoryPage(QWidget):
    """All answers of the session, newest first; the selected one plays and can be changed."""

    def __init__(self, controller: Controller, keys: KeyMap, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._controller, self._history, self.keys = controller, controller.preference_history, keys
        self._judgement: Judgement | None = None
        self._rows_missing: tuple[str, str] | None = _LOADING
        self.setObjectName("history")
        self.setWindowTitle(f"Answer history – {controller.session.folder.name} – Somersault")
        self.resize(fitting(self, QSize(1240, 700)))
        self.model = PreferenceModel(self._history.clip_cache, self)
        self.list, self.pane = PreferenceList(self.model), PreferenceDetail(keys)
        self.filter, self.empty, self.count = FilterBar(), EmptyState(), label("caption")
        self.consistency = ConsistencyBox(controller.session.config.reward.error_rate)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.list)
        self.selection_timer = QTimer(self, singleShot=True, interval=_SELECTION_MS)
        self._tick_end = QTimer(self, singleShot=True, interval=_TICK_MS)
        left = column(self.filter, (self.stack, 1), self.count, spacing=10)
        right = column((self.pane, 1), self.consistency, spacing=10)
        row((left, 5), (right, 6), of=self, margins=(16, 14, 16, 14), spacing=16)
        self._make_keys(keys)
        self._connect()
        self._update_stack()

    def _make_keys(self, keys: KeyMap) -> None:
        bind_playback(self.list, self.pane.clips, keys, Qt.ShortcutContext.WidgetShortcut)
        closes = dict.fromkeys((*keys.keys_for(Command.HISTORY), "Ctrl+W"))
        bind(self, [(closes, self.close)], Qt.ShortcutContext.WindowShortcut)

    def _connect(self) -> None:
        history = self._history
        history.rows_read.connect(self._on_rows_read)
        history.row_read.connect(self._on_row_read)
        history.refused.connect(self._on_refused)
        history.preference_writer.answer_changed.connect(self._on_changed)
        history.preference_writer.change_refused.connect(self.pane.show_refusal)
        history.judged.connect(self._on_judged)
        history.clip_cache.pair_drawn.connect(self._on_pair_drawn)
        history.clip_cache.trouble_found.connect(self._on_trouble_found)
        self.filter.changed.connect(self._on_filter_changed)
        self.filter.judgement_requested.connect(history.judge)
        self.list.selectionModel().currentChanged.connect(self._on_selected)
        self.list.activated.connect(lambda _: self.pane.setFocus())
        self.pane.choice_requested.connect(self._on_choice_requested)
        self.pane.list_requested.connect(self.list.setFocus)
        self.selection_timer.timeout.connect(self._on_selection_settled)
        self._tick_end.timeout.connect(self.pane.clips.end_flash)
        self._controller.state_changed.connect(self._on_state_changed)

    def showEvent(self, event: QShowEvent) -> None:
        if not event.spontaneous():  # restored from the task bar
            self._rows_missing = _LOADING
            self._update_stack()
            self._history.open()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Free the rows and clips of the hidden page."""
        self.selection_timer.stop()
        self.pane.show_nothing()
        self.model.set_rows([])
        self._history.close_page()

    def _on_rows_read(self, rows: list[PreferenceSummary]) -> None:
        if not self.isVisible():
            return  # closed meanwhile
        self._rows_missing = None
        self.model.set_rows(rows)
        self._on_filter_changed()  # an earlier request about disagreements ended with the page
        self.update_consistency()
        if self.pane.row is None:
            self.list.setCurrentIndex(self.model.index(0))
        if not self.pane.hasFocus():  # rows are also read again when training starts
            self.list.setFocus()  # last: a list that gets the focus first makes the row current without selecting it

    def _on_row_read(self, row: PreferenceSummary) -> None:
        if self._rows_missing:  # they can be read again
            self._history.open()
            return
        self.model.set_row(row)
        if self.pane.row and self.pane.row.id == row.id:
            self.pane.show_answer(row)
        self._update_stack()
        self.update_consistency()

    def update_consistency(self) -> None:
        """Show how consistent the answers are, and how to repeat some pairs if none are repeated."""
        self.consistency.show_consistency(self.model.rows, self._controller.labelling.repeats.on)

    def _on_filter_changed(self) -> None:
        if self.filter.on_disagreements:
            self._history.judge()
        self._fill_list()

    def _fill_list(self) -> None:
        """List the answers of the chosen tab and filter; the selection stays if its answer is still listed."""
        if self.filter.on_disagreements:
            self.model.list_disagreements(self._judgement.left if self._judgement else {})
        else:
            self.model.list_all(self.filter.preference_filter)
        index = self.model.index_of(self.pane.row.id) if self.pane.row else QModelIndex()
        if index.isValid():
            self.list.setCurrentIndex(index)
        else:
            self.pane.show_nothing()
        self._update_stack()

    def _update_stack(self) -> None:
        """Show the list, or the reason why it is empty."""
        count = self.model.rowCount()
        self.stack.setCurrentWidget(self.list if count and not self._rows_missing else self.empty)
        self.empty.set_message(*self._why_empty())
        self.count.setText(f"{pluralize(count, 'answer')} shown")
        self.filter.show_judgement(self._judgement, count)

    def _why_empty(self) -> tuple[str, str]:
        if self._rows_missing:
            return self._rows_missing
        if not self.filter.on_disagreements:
            if list(self.model.rows):
                return "No matching answers", "Choose another filter to see more answers."
            return "No answers yet", "Each answer appears here with its two clips as soon as it is given."
        if self._judgement is None:
            running = self._controller.state == State.RUNNING
            detail = "This takes a moment." if running else "The result appears when training continues."
            return "Comparing your answers with the reward model", detail
        if not self._judgement.generation:
            return "No reward model yet", "Answers can be compared once training has started."
        return "Nothing to review", "The reward model agrees with every answer that it was fitted to."

    def _on_judged(self, judgement: Judgement) -> None:
        self._judgement = judgement
        if self.filter.on_disagreements:
            self._fill_list()

    def _on_refused(self, sentence: str) -> None:
        self._rows_missing = "The answers can't be read", sentence
        self._update_stack()

    def _on_selected(self, index: QModelIndex, _: QModelIndex) -> None:
        row = self.list.current
        if row is None:
            self.selection_timer.stop()
            self.pane.show_nothing()
            return
        self.pane.show_answer(row)
        if trouble := index.data(TROUBLE):
            self.selection_timer.stop()
            self.pane.show_unreadable(trouble)
        else:
            self.selection_timer.start()

    def _on_selection_settled(self) -> None:
        if self.pane.row is None:
            return
        self._history.clip_cache.play(self.pane.row.id)
        self._explain_missing_clips()

    def _on_state_changed(self, state: str) -> None:
        if self._judgement is None and self.filter.on_disagreements:
            self._update_stack()
        self._explain_missing_clips()

    def _explain_missing_clips(self) -> None:
        row, state = self.pane.row, self._controller.state
        if row is None or self.pane.clips.shown is not None:
            return
        if state in (State.STOPPING, State.STOPPED):
            self.pane.show_wait(*_NOT_RUNNING)
        elif state == State.STARTING or "clips" in self._controller.job_group.running:
            self.pane.show_wait(*LOADING_CLIPS)
        else:
            self.pane.show_wait(*_FAILED)

    def _on_pair_drawn(self, key: int, pair: Pair) -> None:
        if self.pane.row and self.pane.row.id == key:
            self.pane.show_pair(pair)

    def _on_trouble_found(self, key: int, sentence: str) -> None:
        if self.pane.row and self.pane.row.id == key:
            self.pane.show_unreadable(sentence)

    def _on_choice_requested(self, choice: Choice) -> None:
        assert self.pane.row is not None
        self._history.preference_writer.change(self.pane.row.id, choice, Teacher.HUMAN)

    def _on_changed(self, preference: Preference) -> None:
        row = self.pane.row
        if row and row.id == preference.id:
            self.pane.clips.flash(preference.choice)
            self._tick_end.start()
            # The store's reader may be faster, so that the row has the new choice already.
            earlier = [row.choice, *(choice for choice, *_ in reversed(row.changes))]
            before = next((f" (before: {CHOICES[choice]})" for choice in earlier if choice != preference.choice), "")
            self.pane.show_message(f"Saved: {CHOICES[preference.choice]}{before}.")
