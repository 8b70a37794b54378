"""The page "A behaviour of your own": robot, name, sentence, camera, clips and plots; expressions are in a collapsible part."""

import copy
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from app.behaviours.clip_settings import ClipSettings
from app.behaviours.draft import BehaviourDraft
from app.behaviours.expression_fields import ExpressionFields
from app.behaviours.practice import PAIRS, Practice, Practised
from app.behaviours.robot_picker import RobotPicker
from app.behaviours.scene_view import SIDE, SceneView
from app.behaviours.scenes import Scenes
from app.behaviours.signal_list import SignalList
from app.behaviours.signal_titles import plottable
from app.clips.clip_pair import size_in
from app.keys.shortcuts import bind
from app.labelling.pair_queue import CLIP_SIZE
from app.new_session.begin_from import BeginFrom
from app.previews.previews import Preview
from app.style.file_dialog import ask_for_file_to_open
from app.style.labels import fold_button, label, set_property
from app.style.layouts import column, row, tab_order
from app.style.scroll_area import ScrollArea
from core.behaviours.behaviour import MAX_PLOTS, MAX_TITLE, Behaviour, CameraView
from core.behaviours.robot_model import MJCF_PREFIX, RobotModel
from core.tasks.behaviour_tasks import behaviour_task
from core.tasks.robots import ROBOTS

_EXAMPLES = (
    "Examples:",
    "“Choose the clip in which the robot kneels more steadily.”",
    "“Choose the clip that comes closer to a backflip; if neither does, the one with more turning.”",
    "“Choose the clip in which it moves further left without falling.”",
    "Say what is better, not how it is done.",
)
_NEXT = f"Practise with {PAIRS} pairs first, or start."
_SENTENCE_HEIGHT = 74
_LARGEST_PICTURE, _PICTURE_SHARE = 1000, 0.47
"""Largest side of the picture in pixels, and the share of the page's width that it takes at most."""
_WIDEST_SETTINGS, _WIDEST_WORDS = 600, 1400
"""Maximum widths in pixels of the parts below the picture, and to the right of it."""
_AROUND_PICTURE = 330
"""Height in pixels of the parts above and below the picture."""
_SHARP_SECONDS = 2.0
"""Length of clips up to which practice pairs are rendered in the size of the screen, which takes 0.9 GB at most."""


class BehaviourPage(QWidget):
    """Shows one draft. Drafts that are left unsaved are shown again when the page is opened for the same behaviour.

    draft: the draft on screen

    Signals:
        save_requested(object, object): Behaviour, and the Path of the file to replace or None.
        start_requested(object, object, object): the same, with the answers (app.behaviours.practice.Practised) of a session
            to be started.
        back_requested(): return to the start page.
        robot_file_chosen(object): Path of the MJCF file from which to read a robot.
        preview_requested(str): task whose moving picture is missing.
    """

    save_requested = Signal(object, object)
    start_requested = Signal(object, object, object)
    back_requested = Signal()
    robot_file_chosen = Signal(object)
    preview_requested = Signal(str)

    def __init__(self, scenes: Scenes) -> None:
        super().__init__()
        self._scenes = scenes
        self._key = ""
        """Key of the draft on screen: the path of a behaviour's file, the name of one that is copied, or '' for a new one."""
        self._unsaved: dict[str, BehaviourDraft] = {}
        self._discarded: tuple[BehaviourDraft, BehaviourDraft] | None = None
        """The draft that was discarded, and the one that took its place, unchanged."""
        self._models: dict[str, RobotModel] = {}
        self._pictured: dict[str, str] = {}
        """Names of imported robots by the tasks that picture them."""
        self._scene: tuple[object, ...] | None = None
        """Motion, camera and size of the picture that was drawn last; None before the first."""
        self._robot: tuple[str, RobotModel | None] = "", None
        """Robot of that scene."""
        self._practised_motion: tuple[object, ...] | None = None
        """The draft's motion when it was practised last; None for another draft."""
        self.draft = BehaviourDraft.new()
        self._make_picture()
        self._make_words()
        self._make_fold()
        self._make_foot()
        self.maker, self.practice = QWidget(), Practice()
        self._arrange()
        self.stack = QStackedWidget()
        self.stack.addWidget(self.maker)
        self.stack.addWidget(self.practice)
        column((self.stack, 1), of=self, spacing=0)
        self._connect()

    def _make_picture(self) -> None:
        self.view = SceneView()
        self.clips = ClipSettings()
        self.begin_from = BeginFrom()
        self.usual_view = QPushButton("Reset view")
        self.usual_view.setObjectName("quiet")
        self.picture_help = label("settingHelp", "Drag to rotate, scroll to zoom.")

    def _make_words(self) -> None:
        self.robots = RobotPicker({name: robot.title for name, robot in ROBOTS.items()})
        self.robot_file = QPushButton("From an MJCF file…")
        self.robot_file.setObjectName("small")
        self.title = QLineEdit(placeholderText="for example Kneeling", maxLength=MAX_TITLE)
        self.title.setAccessibleName("Name of the behaviour")
        self.instruction = QPlainTextEdit(tabChangesFocus=True)
        self.instruction.setPlaceholderText("Choose the clip in which the robot …")
        self.instruction.setAccessibleName("Sentence above the clips")
        self.instruction.setFixedHeight(_SENTENCE_HEIGHT)
        for editor in (self.title, self.instruction):
            editor.setAcceptDrops(False)  # files that are dropped here are the window's
        self.instruction_problem = label("fieldProblem", wrap=True)
        self.signals = SignalList()
        self.plots_help = label("settingHelp", wrap=True)

    def _make_fold(self) -> None:
        self.fold = fold_button("More: your own expressions")
        self.expressions = ExpressionFields()
        self.fold.toggled.connect(self.expressions.setVisible)
        self.fold.clicked.connect(self._on_folded)
        self.expressions.hide()

    def _make_foot(self) -> None:
        self.problem = label("problem", wrap=True)
        self.over = QPushButton("Discard changes")
        self.over.setToolTip("Discard the changes on this page; you can restore them until you change something else")
        self.back = QPushButton("Back")
        self.save = QPushButton("Save")
        self.save.setToolTip("Save the behaviour for later (Ctrl+S)")
        self.practise = QPushButton("Practise")
        self.practise.setToolTip(
            "Answer five practice pairs with this robot; your answers are kept only if you start with them"
        )
        self.start = QPushButton("Start")
        self.start.setObjectName("primary")
        self.start.setToolTip("Save the behaviour and start teaching (Ctrl+Enter)")

    def _arrange(self) -> None:
        self.clips.form.addRow(self.begin_from.title, self.begin_from)
        view_foot = row((self.picture_help, 1), self.usual_view)
        self.clips.setMaximumWidth(_WIDEST_SETTINGS)
        left = column(self.view, view_foot, self.clips, None, spacing=10)
        inside = QWidget()
        inside.setObjectName("page")
        inside.setMaximumWidth(_WIDEST_WORDS)
        names = column(
            *(label("settingName", "Name"), self.title, label("settingName", "Sentence above the clips")),
            *(self.instruction, self.instruction_problem),
            spacing=5,
        )
        examples = column(*(label("settingHelp", text, wrap=True) for text in _EXAMPLES), None, spacing=5)
        robot_header = row((label("sectionName", "Robot"), 1), self.robot_file)
        parts: tuple[QWidget | QLayout | tuple[QWidget, int], ...] = (
            *(label("pageTitle", "A behaviour of your own"), robot_header, self.robots),
            *(row((names, 3), (examples, 2), spacing=20), label("sectionName", "Plots"), self.plots_help),
            (self.signals, 1),
        )
        content = column(*parts, of=inside, margins=(2, 0, 16, 0), spacing=10)
        content.addWidget(self.fold, 0, Qt.AlignmentFlag.AlignLeft)
        content.addWidget(self.expressions)
        self.area = ScrollArea(inside)
        foot = row((self.problem, 1), self.over, self.back, self.save, self.practise, self.start)
        body = row(left, (self.area, 1), spacing=30)
        column((body, 1), foot, of=self.maker, margins=(30, 22, 30, 18), spacing=14)
        tab_order(*self.begin_from.parts.values(), self.over, self.back, self.save, self.practise, self.start)

    def _connect(self) -> None:
        self._scenes.drawn.connect(self.view.play)
        self._scenes.still_drawn.connect(self.view.set_frames)  # one frame, as it is seen from where the camera is now
        self._scenes.constant_found.connect(self.signals.hide_constant)
        self._scenes.refused.connect(self._on_scene_refused)
        self.view.turned.connect(self._on_turned)
        self.view.settled.connect(self._draw)
        self.usual_view.clicked.connect(self.view.reset_view)
        self.clips.edited.connect(self._refresh)
        self.robots.robot_chosen.connect(self._on_robot_chosen)
        self.robot_file.clicked.connect(self._ask_for_robot)
        self.title.textEdited.connect(self._on_words)
        self.instruction.textChanged.connect(self._on_words)
        self.signals.ticked.connect(self._on_ticked)
        self.expressions.edited.connect(self._refresh)
        self.over.clicked.connect(self._on_over)
        self.back.clicked.connect(self.back_requested)
        self.save.clicked.connect(self._save)
        self.practise.clicked.connect(self._begin_practice)
        self.start.clicked.connect(self._start_plainly)
        self._scenes.pair_drawn.connect(self.practice.add)
        self.practice.ended.connect(self._end_practice)
        self.practice.start_requested.connect(self._start_practised)
        bind(
            self.maker,
            [
                (("Esc",), self.back_requested.emit),
                (("Ctrl+S",), self._save),
                (("Ctrl+Return",), self._start_plainly),
            ],
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        most = min(_LARGEST_PICTURE, round(_PICTURE_SHARE * self.width()))
        side = max(SIDE, min(most, self.height() - _AROUND_PICTURE))
        self.view.setFixedSize(side, side)
        if self._scene and self.making:
            self._update_scene()

    def minimumSizeHint(self) -> QSize:
        """Return the size that the page needs with its smallest picture, as the picture shrinks with the window."""
        spare = self.view.height() - SIDE
        return super().minimumSizeHint() - QSize(spare, spare)

    def open_new(self) -> None:
        """Show an empty draft, or the one that was left unsaved."""
        self._open("", None, None)

    def open_behaviour(self, behaviour: Behaviour, path: Path | None = None) -> None:
        """Show a behaviour for editing. path: its file; None to make a new one like it."""
        self._open(str(path or behaviour.name), behaviour, path)

    def _open(self, key: str, behaviour: Behaviour | None, path: Path | None) -> None:
        if key != self._key:
            self.begin_from.reset()
            self.forget_practice()
        self._key, left = key, self._unsaved.get(key)
        self._discarded = None
        if left is None or left.origin != behaviour:  # its file has changed meanwhile
            self._unsaved[key] = BehaviourDraft.of(behaviour, path) if behaviour else BehaviourDraft.new()
            if left is not None and left.changed:
                self._discarded = left, copy.deepcopy(self._unsaved[key])
            self.forget_practice()
        self._show(self._unsaved[key])
        self.area.verticalScrollBar().setValue(0)
        self.robots.focus()

    def leave(self) -> None:
        """Free memory and the processor; drafts with changes stay."""
        self._unsaved = {key: draft for key, draft in self._unsaved.items() if draft.changed}
        self._scenes.rest()
        self.practice.leave()
        self.stack.setCurrentWidget(self.maker)
        self._scene = None
        self.view.play(None)

    def forget_practice(self) -> None:
        """Discard the answers of the practice, and their clips."""
        self.practice.forget()
        self._practised_motion = None

    def saved(self, path: Path) -> None:
        """Record that the draft has been saved in this file, which the next save replaces."""
        self._unsaved.pop(self._key, None)
        self._key, self.draft.path, self.draft.origin = str(path), path, self.draft.behaviour
        self._unsaved.setdefault(self._key, self.draft)  # changes to a file that is equal stay

    @property
    def unsaved_title(self) -> str:
        """Title of the draft on screen if it has changes that are not saved, else ''."""
        return self.draft.shown_title if self.draft.changed else ""

    def unsaved_drafts(self) -> list[BehaviourDraft]:
        """Return copies of all drafts with unsaved changes, except those of behaviours that are in the trash."""
        # The draft on screen is among them, unless another one has changes to the file in which it was saved.
        drafts = {id(draft): draft for draft in (*self._unsaved.values(), self.draft)}
        changed = [draft for draft in drafts.values() if draft.changed]
        return [copy.deepcopy(draft) for draft in changed if draft.path is None or draft.path.exists()]

    @property
    def making(self) -> BehaviourDraft | None:
        """The draft that can be changed on screen; None while its pairs are practised."""
        return self.draft if self.stack.currentWidget() is self.maker else None

    def add_robot(self, name: str, model: RobotModel, chosen: bool = True) -> str:
        """Add a robot that was read from a file, and choose it if `chosen`. Return the name on its card."""
        name = self._offer_robot(name, model)
        if chosen:
            self.robots.choose(name)
            self._on_robot_chosen(name)
            self.robots.focus()
        return self.robots.cards[name].title

    def set_preview(self, task: str, preview: Preview) -> None:
        self.robots.set_preview(self._pictured.get(task, task), preview)

    def set_preview_error(self, task: str, sentence: str) -> None:
        self.robots.set_error(self._pictured.get(task, task), sentence)

    def request_previews(self) -> None:
        """Request the missing previews. A shipped robot is shown by the catalogue's task of the same name."""
        tasks = {robot: task for task, robot in self._pictured.items()}
        for name in reversed(self.robots.missing()):  # each goes before the others
            self.preview_requested.emit(tasks.get(name, name))

    def _offer_robot(self, name: str, model: RobotModel | None) -> str:
        """Add a card for the robot unless there is one. Return its name, numbered if another model has that name."""
        if name in ROBOTS:
            return name
        if model is not None:
            stem, number = name.removesuffix(".xml"), 1
            while self._models.get(name, model) != model:
                number += 1
                name = f"{stem} ({number}).xml"
            if name not in self._models:
                self._models[name] = model
                self._pictured[BehaviourDraft(robot=name, model=model).scene_text()] = name
        self.robots.add(name, name.removeprefix(MJCF_PREFIX).rpartition("/")[2].removesuffix(".xml"))
        return name

    def _show(self, draft: BehaviourDraft) -> None:
        self.draft = draft
        self.robots.choose(self._offer_robot(draft.robot, draft.model))
        self.request_previews()
        self.title.setText(draft.title)
        if self.instruction.toPlainText() != draft.instruction:
            self.instruction.setPlainText(draft.instruction)
        self.fold.setChecked(bool(draft.oracle or draft.measure))
        self.signals.search.clear()
        self.signals.list.scrollToTop()
        self._refresh()

    def _refresh(self) -> None:
        """Check the draft and update everything that depends on it."""
        draft = self.draft
        draft.check()
        self._update_over()
        own = BehaviourDraft(robot=draft.robot, model=draft.model).view
        self.view.set_view(draft.view, own)
        self.usual_view.setEnabled(draft.camera is not None)
        self.clips.show_draft(draft)
        self.signals.set_signals(plottable(draft.names) if draft.task else {}, draft.plotted)
        self.signals.setEnabled(draft.task is not None)
        self.expressions.show_draft(draft)
        if any(field.startswith(("plot", "oracle", "measure")) for field in draft.problems):
            self.fold.setChecked(True)
        self.plots_help.setText(_plots_help(draft))
        self.instruction_problem.setText(draft.problems.get("instruction", ""))
        self.instruction_problem.setVisible("instruction" in draft.problems)
        self._show_what_to_correct()
        for button in (self.save, self.start, self.practise):
            button.setEnabled(draft.behaviour is not None)
        self.practise.setVisible(draft.task is not None)
        self.begin_from.show_fitting(behaviour_task(draft.behaviour) if draft.behaviour else draft.task)
        self._update_scene()

    def _update_over(self) -> None:
        """Offer to restore the discarded draft until the draft in its place is changed."""
        if self._discarded is not None and self.draft != self._discarded[1]:
            self._discarded = None
        self.over.setText("Discard changes" if self._discarded is None else "Restore")
        self.over.setEnabled(self.draft.changed or self._discarded is not None)

    def _show_problem(self, sentence: str, is_mistake: bool = True) -> None:
        """is_mistake: False if the sentence describes the next step"""
        self.problem.setText(sentence)
        set_property(self.problem, "kind", "" if is_mistake else "hint")

    def _show_what_to_correct(self) -> None:
        """Show the first problem or the next step at the foot of the page."""
        problems = self.draft.problems
        if general := problems.get("title") or problems.get("robot") or self.draft.missing:
            self._show_problem(general, is_mistake=bool(problems))
        elif problems:
            self._show_problem("Correct the marked fields.")
        else:
            self._show_problem(_NEXT if self.draft.task else "", is_mistake=False)

    def _update_scene(self) -> None:
        """Draw the robot again if the draft or the size of the picture has changed."""
        if self._scene != (self.draft.motion, self.draft.camera, self.view.clip_size):
            self._draw()

    def _draw(self, still: int | None = None) -> None:
        text, size = self.draft.scene_text(), self.view.clip_size
        self._scene = self.draft.motion, self.draft.camera, size
        previous, self._robot = self._robot, (self.draft.robot, self.draft.model)
        if previous != self._robot:
            self.view.play(None)
        if text:
            self._scenes.request(text, size, still)

    def _on_scene_refused(self, sentence: str) -> None:
        self.view.refuse(sentence)
        self._show_problem(sentence)
        self.practice.refuse(sentence)

    def _begin_practice(self) -> None:
        behaviour = self.draft.behaviour
        if behaviour is not None:
            self.stack.setCurrentWidget(self.practice)
            self.view.play(None)
            self.practice.begin(behaviour.instruction, again=self.draft.motion == self._practised_motion)
            self._practised_motion = self.draft.motion
            if not self.practice.done:
                size = size_in(self.practice.clips) if behaviour.clip_seconds <= _SHARP_SECONDS else CLIP_SIZE
                self._scenes.practise(behaviour.to_text(), PAIRS, size)

    def _end_practice(self) -> None:
        self.practice.leave()
        self._show_what_to_correct()
        self.stack.setCurrentWidget(self.maker)
        self._draw()
        self.practise.setFocus()

    def _start_plainly(self) -> None:
        self._start_practised(())

    def _start_practised(self, answers: Practised) -> None:
        self.draft.check()
        if self.draft.behaviour is not None:
            self.start_requested.emit(self.draft.behaviour, self.draft.path, answers)

    def _on_turned(self, view: CameraView) -> None:
        if self.draft.task is None:  # a Gymnasium environment has its own camera
            return
        usual = view == self.view.usual
        self.draft.camera = None if usual else view
        self.usual_view.setEnabled(not usual)
        self.draft.check()
        self._update_over()
        self._show_what_to_correct()  # instead of a reason why the robot could not be drawn
        self._draw(self.view.clock.frame)

    def _on_words(self) -> None:
        self.draft.title, self.draft.instruction = self.title.text(), self.instruction.toPlainText()
        self._refresh()

    def _on_robot_chosen(self, name: str) -> None:
        self.draft.set_robot(name, self._models.get(name))
        self._refresh()
        self.request_previews()

    def _on_ticked(self, signal: str, on: bool) -> None:
        self.draft.plot_signal(signal, on)
        self._refresh()

    def _on_folded(self, on: bool) -> None:
        if on:  # shown once they are laid out
            QTimer.singleShot(0, self, lambda: self.area.verticalScrollBar().setValue(self.fold.y()))

    def _on_over(self) -> None:
        """Discard the changes, or restore those that were discarded."""
        if self._discarded is not None:
            self._unsaved[self._key], self._discarded = self._discarded[0], None
            self._show(self._unsaved[self._key])
            return
        discarded = self.draft
        self._unsaved.pop(self._key, None)
        self._open(self._key, discarded.origin, discarded.path)
        if discarded != self.draft:
            self._discarded = discarded, copy.deepcopy(self.draft)
            self._refresh()

    def _ask_for_robot(self) -> None:
        kinds = "MJCF files (*.xml);;All files (*)"
        ask_for_file_to_open(self, "Robot from an MJCF file", Path.home(), kinds, self.robot_file_chosen.emit)

    def _save(self) -> None:
        self.draft.check()
        if self.draft.behaviour is not None:
            self.save_requested.emit(self.draft.behaviour, self.draft.path)


def _plots_help(draft: BehaviourDraft) -> str:
    if draft.task is None:
        return "A Gymnasium environment has no signals to plot."
    count = sum(not plot.empty for plot in draft.plots)
    if len(draft.plots) >= MAX_PLOTS:
        return f"At most {MAX_PLOTS} figures can be plotted: untick or remove one first."
    hidden = " They are hidden with the true reward while you answer." if draft.oracle.strip() else ""
    return (
        f"Tick up to {MAX_PLOTS} signals. Plots show the mean of each over an episode while the robot learns.{hidden}"
        f" {count} plotted so far."
    )
