"""A session of a person's own behaviour: its window, its entry in the list of sessions, and its export."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from app.keys.commands import Command
from app.session.summary_writer import SummaryWriter
from app.start_page.session_model import title
from core.behaviours.behaviour import parse
from core.session.archive import export_session, import_session
from core.session.library import entry
from core.session.session import read_config
from core.session.summary import NAME
from core.tasks import get_task
from core.types import Teacher
from tests.app.fakes import Face

VALUES = {
    "name": "crouch",
    "robot": "walker",
    "title": "Crouching",
    "instruction": "Which one is lower?",
    "clip_seconds": 1.0,
    "plots": [{"title": "Height (m)", "expression": "mean(height)"}, {"title": "Turns", "expression": "turns(pitch)"}],
}
TEXT = parse(json.dumps(VALUES)).to_text()


def test_a_behaviour_without_an_oracle_has_its_plots_and_only_a_person_can_teach_it(
    open_face: Callable[..., Face],
) -> None:
    face = open_face(task=TEXT)
    assert face.window.windowTitle().split(" – ")[1] == "Crouching"
    assert [plot.spec.title for plot in face.window.plots.all_plots().values()][:2] == ["Height (m)", "Turns"]
    assert not face.window.commands[Command.ORACLE].isEnabled()
    assert not face.window.commands[Command.HIDE_TRUE_REWARD].isEnabled()  # it has none
    face.window.commands[Command.SELF_RUNNING_DEMO].trigger()
    assert face.labelling.teacher == Teacher.HUMAN
    assert "this task has no true reward" in face.window.banner.text.text()


def test_a_session_of_a_behaviour_is_listed_by_its_title_and_exported_with_its_text(
    open_face: Callable[..., Face], tmp_path: Path
) -> None:
    face = open_face(task=TEXT)
    SummaryWriter(face.controller)
    face.labelling.preference_writer.count()
    face.wait_until((face.folder / NAME).exists)
    listed = entry(face.folder)
    assert listed.summary and (listed.summary.task, title(listed.summary)) == (TEXT, "Crouching")
    export_session(face.controller.session, tmp_path / "one.somersault")
    import_session(tmp_path / "one.somersault", tmp_path / "other")
    assert get_task(read_config(tmp_path / "other").task).instruction == "Which one is lower?"
