"""The page on which a person makes a behaviour: real keys and mouse, with stand-ins for the renderers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.session.factory import create_session, session_config
from app.start_page.task_card import TaskCard
from app.start_page.task_grid import DELETE, DUPLICATE, EDIT, EDIT_COPY, EXPORT
from app.style import theme
from app.style.theme import Appearance
from core.behaviours.shipped import shipped_behaviours
from core.tasks import get_task
from core.tasks.base import RobotTask
from tests.app.behaviour_page_driver import CROUCH, SENTENCE, choose, files, fill, opened, own, with_files
from tests.app.clipping import clipped
from tests.app.fakes import take_file
from tests.app.start_page_driver import Page

_ANY = Qt.KeyboardModifier.NoModifier
_LEFT = Qt.MouseButton.LeftButton


def test_a_name_and_an_instruction_make_a_session_by_keys_alone(page: Page) -> None:
    made = opened(page)
    assert made.robots.cards["hopper"].hasFocus() and made.problem.text() == "Give the behaviour a name."
    assert made.problem.palette().windowText().color().name() == theme.palette().muted  # no mistake yet
    page.press(Qt.Key.Key_Right)
    assert made.robots.chosen == "walker" and made.robots.cards["walker"].hasFocus()
    page.press(Qt.Key.Key_Tab)
    QTest.keyClicks(QApplication.focusWidget(), "Kneeling quietly")
    assert made.problem.text() == "Write the sentence that is shown above the clips." and not made.start.isEnabled()
    page.press(Qt.Key.Key_Tab)
    QTest.keyClicks(QApplication.focusWidget(), SENTENCE)
    assert made.problem.text() == "Practise with 5 pairs first, or start." and made.start.isEnabled()
    page.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    page.wait_until(lambda: bool(page.opened))
    session = page.opened[0]
    assert session.folder.name == "kneeling-quietly-1"
    task = get_task(session.config.task)
    assert isinstance(task, RobotTask) and (task.robot, task.title) == ("walker", "Kneeling quietly")
    assert task.instruction == SENTENCE and list(task.plots.values()) == ["Height (m)", "Forward speed (m/s)"]
    kept = files(page)["kneeling-quietly.json"]
    assert kept.to_text() == session.config.task and kept.clip_seconds == 1.5
    page.wait_until(lambda: [card.text() for card in own(page)] == ["Kneeling quietly"])
    page.window.show_new_behaviour()
    assert made.title.text() == ""


def test_the_camera_turns_by_mouse_wheel_and_keys_and_its_view_is_saved(page: Page) -> None:
    made = opened(page)
    usual, view = made.view.view, made.view
    QTest.mousePress(view, _LEFT, _ANY, QPoint(100, 100))
    QTest.mouseMove(view, QPoint(160, 140))
    page.wait_until(lambda: page.scenes[-1].still is not None)
    assert (view.view.azimuth, view.view.elevation) == (usual.azimuth - 30, usual.elevation + 20)
    QTest.mouseRelease(view, _LEFT, _ANY, QPoint(160, 140))
    page.wait_until(lambda: page.scenes[-1].still is None and view.frames is view.clip)
    view.setFocus()
    for key in (Qt.Key.Key_Plus, Qt.Key.Key_Up, Qt.Key.Key_Left):
        page.press(key)
    page.window.scenes.refused.emit("The robot can't be rendered: no memory.")
    assert made.problem.text() == "The robot can't be rendered: no memory."
    page.press(Qt.Key.Key_Left)
    page.press(Qt.Key.Key_Right)
    assert "can't be rendered" not in made.problem.text()
    assert view.view.elevation == usual.elevation + 25 and view.view.azimuth == usual.azimuth - 25
    assert view.view.distance == pytest.approx(0.9 * usual.distance)
    page.wait_until(lambda: page.scenes[-1].still is None)
    assert json.loads(page.scenes[-1].behaviour)["camera"]["elevation"] == view.view.elevation
    fill(made)
    QTest.mouseClick(made.save, _LEFT)
    page.wait_until(lambda: page.message == "Saved Kneeling.")
    assert files(page)["kneeling.json"].camera == view.view
    assert page.window.pages.currentWidget() is page.window.front
    page.wait_until(lambda: bool(own(page)))
    choose(own(page)[0], EDIT)
    QTest.mouseClick(made.usual_view, _LEFT)
    assert made.draft.camera is None and view.view == usual


def test_length_start_and_robot_change_the_preview_and_unsuitable_starts_are_not_offered(page: Page) -> None:
    made = opened(page)
    made.clips.length.setFocus()
    page.press(Qt.Key.Key_Right)
    assert made.draft.clip_seconds == 1.75 and made.clips.seconds.text() == "1.75 s"
    made.clips.start.setFocus()
    page.press(Qt.Key.Key_Down)
    page.wait_until(lambda: json.loads(page.scenes[-1].behaviour).get("start") == "lying")
    assert json.loads(page.scenes[-1].behaviour)["clip_seconds"] == 1.75
    assert "some episodes also start turned over, tilted or in the air" in made.clips.start.toolTip()
    QTest.mouseClick(made.robots.cards["pendulum"], _LEFT)
    assert made.draft.start == "standing" and made.clips.start.toolTip() == "This robot can't be laid down or lifted."
    made.clips.start.setFocus()
    page.press(Qt.Key.Key_Down)
    page.wait_until(lambda: json.loads(page.scenes[-1].behaviour).get("start") == "random")
    page.wait_until(lambda: json.loads(page.scenes[-1].behaviour)["robot"] == "pendulum")
    assert made.problem.text() == "Give the behaviour a name."


def test_a_placeholder_replaces_the_previous_robot_until_the_next_one_is_drawn(page: Page) -> None:
    view = page.window.behaviour_page.view
    page.show().window.show_new_behaviour()
    assert view.frames is None and view.placeholder == "Loading preview…"
    page.wait_until(lambda: view.frames is not None)
    page.press(Qt.Key.Key_Right)
    assert page.window.behaviour_page.robots.chosen == "walker"
    assert view.frames is None and view.placeholder == "Loading preview…"
    page.wait_until(lambda: view.frames is not None)


def test_signals_that_never_change_on_the_robot_are_not_offered(make_page: Callable[..., Page]) -> None:
    page = make_page(constant=frozenset({"side_speed", "y"}))
    made = opened(page)

    def offered() -> list[str]:
        rows = map(made.signals.list.item, range(made.signals.list.count()))
        return [row.text().partition("·")[2].strip() for row in rows if not row.isHidden()]

    page.wait_until(lambda: "side_speed" not in offered())
    assert "height" in offered() and "y" not in offered()
    made.signals.search.setText("speed")
    assert "forward_speed" in offered() and "side_speed" not in offered()


def test_signals_are_searched_and_ticked_and_expressions_are_checked_while_typed(page: Page) -> None:
    made = opened(page)
    fill(made)
    made.signals.search.setFocus()
    QTest.keyClicks(made.signals.search, "foot floor")
    shown = [row for row in range(made.signals.list.count()) if not made.signals.list.item(row).isHidden()]
    assert [made.signals.list.item(row).text() for row in shown] == [
        "foot_geom on the floor (share of the time)   ·   contact[foot_geom]"
    ]
    made.signals.list.setFocus()
    made.signals.list.setCurrentRow(shown[0])
    page.press(Qt.Key.Key_Space)
    assert made.draft.plots[-1].expression == "mean(contact[foot_geom])"
    QTest.mouseClick(made.fold, _LEFT)
    fields = made.expressions
    for field, text, problem in (
        (fields.oracle, "up - heigth", "The oracle, column 6: there is no signal heigth: did you mean height?"),
        (fields.measure, "share(height < 1", "The figure can't be read at column 6: check the brackets and signs."),
    ):
        QTest.keyClicks(field.expression, text)
        assert field.problem.text() == problem and not made.start.isEnabled()
        assert made.problem.text() == "Correct the marked fields."
        assert made.problem.palette().windowText().color().name() == theme.palette().amber
        field.expression.selectAll()
        QTest.keyClicks(field.expression, "1 - up" if field is fields.oracle else "share(height < 1)")
        assert field.problem.isHidden() and made.start.isEnabled()
    fields.oracle.expression.selectAll()
    QTest.keyClicks(fields.oracle.expression, "x * up")
    assert fields.oracle.problem.text() == "The predictors can't learn a reward for x, which they do not see."
    assert fields.oracle.problem.isVisible() and made.start.isEnabled()  # only a warning: the file can be used
    fields.oracle.expression.selectAll()
    QTest.keyClicks(fields.oracle.expression, "1 - up")
    assert fields.oracle.problem.isHidden()
    for number in range(3):
        QTest.mouseClick(fields.add, _LEFT)
        QTest.keyClicks(fields.plots[-1].expression, "last(x)")
        assert fields.plots[-1].problem.text() == "Give the plot a title."
        QTest.keyClicks(fields.plots[-1].title, f"End {number}")
    assert len(made.draft.plots) == 6 and not fields.add.isEnabled() and made.start.isEnabled()
    made.signals.search.clear()
    made.signals.list.item(4).setCheckState(Qt.CheckState.Checked)
    assert made.signals.list.item(4).checkState() == Qt.CheckState.Unchecked and len(made.draft.plots) == 6
    made.save.click()
    page.wait_until(lambda: bool(page.message))
    kept = files(page)["kneeling.json"]
    assert (kept.oracle, kept.measure and kept.measure.name) == ("1 - up", "measure") and len(kept.plots) == 6


def test_typed_text_survives_leaving_the_page_and_a_full_disk(page: Page) -> None:
    made = opened(page)
    fill(made)
    page.press(Qt.Key.Key_Escape)
    assert page.window.grid.new_card.hasFocus()
    page.press(Qt.Key.Key_Return)
    assert made.title.text() == "Kneeling" and made.instruction.toPlainText() == SENTENCE
    page.behaviours.write_text("in the way of the folder")
    page.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    page.wait_until(lambda: "kneeling.json" in page.message)
    assert page.window.pages.isEnabled() and made.isVisible() and made.title.text() == "Kneeling"
    assert not page.opened
    page.behaviours.unlink()
    QTest.mouseClick(made.over, _LEFT)
    assert made.title.text() == "" and made.problem.text() == "Give the behaviour a name."
    assert made.over.text() == "Restore" and made.over.isEnabled()
    QTest.mouseClick(made.over, _LEFT)  # restores what was discarded
    assert made.title.text() == "Kneeling" and made.instruction.toPlainText() == SENTENCE
    QTest.mouseClick(made.over, _LEFT)
    made.title.setFocus()
    QTest.keyClicks(made.title, "Other")
    QTest.mouseClick(made.over, _LEFT)
    assert made.title.text() == "" and made.over.text() == "Restore"
    QTest.mouseClick(made.over, _LEFT)
    assert made.title.text() == "Other" and made.over.text() == "Discard changes"


def test_discarded_changes_can_be_restored_until_the_camera_is_turned(page: Page) -> None:
    made = opened(page)
    assert not made.over.isEnabled()  # nothing has changed yet
    fill(made)
    QTest.mouseClick(made.over, _LEFT)
    assert made.over.text() == "Restore"
    made.view.setFocus()
    page.press(Qt.Key.Key_Up)
    assert made.over.text() == "Discard changes"
    QTest.mouseClick(made.over, _LEFT)
    assert made.draft.camera is None and made.over.text() == "Restore"
    QTest.mouseClick(made.over, _LEFT)
    assert made.draft.camera is not None and made.title.text() == ""


def test_a_card_can_be_edited_copied_exported_and_deleted(page: Page, tmp_path: Path) -> None:
    (card,) = with_files(page, CROUCH)
    choose(card, EXPORT)
    take_file(page.window, tmp_path / "out.json")
    page.wait_until(lambda: page.message == "Saved out.json.")
    assert json.loads((tmp_path / "out.json").read_text()) == CROUCH
    choose(card, DUPLICATE)
    page.wait_until(lambda: {one.text() for one in own(page)} == {"Crouching", "Crouching (copy)"})
    assert set(files(page)) == {"crouch.json", "crouch-copy.json"}
    choose(card, EDIT)
    made = page.window.behaviour_page
    assert made.title.text() == "Crouching" and made.draft.clip_seconds == 1.0
    QTest.mouseClick(made.robots.cards["ant"], _LEFT)
    QTest.mouseClick(made.save, _LEFT)
    page.wait_until(lambda: page.message == "Saved Crouching.")
    assert files(page)["crouch.json"].robot == "ant" and len(files(page)) == 2
    page.wait_until(lambda: card not in own(page))
    (changed,) = [one for one in own(page) if one.text() == "Crouching"]
    page.wait_until(changed.hasFocus)
    choose(changed, DELETE)
    page.wait_until(lambda: [one.text() for one in own(page)] == ["Crouching (copy)"])
    assert page.trashed == ["crouch.json"] and page.message == "Moved Crouching to Trash."
    page.press(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    page.wait_until(lambda: page.message == "Restored Crouching.")
    assert set(files(page)) == {"crouch.json", "crouch-copy.json"} and page.trashed == []
    shipped = page.window.grid.cards["walker-kneel"]
    assert isinstance(shipped, TaskCard)
    choose(shipped, EDIT_COPY)
    assert made.title.text() == "Walker: kneeling" and made.draft.path is None and made.fold.isChecked()


def test_unsaved_changes_are_reported_on_leaving_and_quitting_and_survive_the_trash(page: Page) -> None:
    (card,) = with_files(page, CROUCH)
    choose(card, EDIT)
    made = page.window.behaviour_page
    page.press(Qt.Key.Key_Escape)
    assert page.message == ""  # nothing was changed
    choose(card, EDIT)
    made.title.setFocus()
    QTest.keyClicks(made.title, " low")
    page.press(Qt.Key.Key_Escape)
    assert page.message.startswith("The changes to Crouching low are not saved.")
    choose(card, DELETE)
    page.wait_until(lambda: page.message == "Moved Crouching to Trash.")
    page.press(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    page.wait_until(lambda: page.message == "Restored Crouching." and len(own(page)) == 1)
    choose(own(page)[0], EDIT)
    assert made.title.text() == "Crouching low"
    page.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    assert page.window.isVisible() and page.message.startswith("Quitting discards the changes to Crouching low: ")
    for edited in (made.title, made.instruction):  # not the draft that the question was about
        QTest.keyClicks(edited, "er")
        page.window.show_message("")
        page.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
        assert page.window.isVisible() and page.message.startswith("Quitting discards the changes to Crouching lower: ")
    page.window.show_message("Imported mine.")  # the warning is gone
    for visible in (True, False):
        page.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
        assert page.window.isVisible() == visible


def test_unsaved_changes_can_be_restored_when_another_program_has_changed_the_file(page: Page) -> None:
    (card,) = with_files(page, CROUCH)
    choose(card, EDIT)
    made = page.window.behaviour_page
    made.title.setFocus()
    QTest.keyClicks(made.title, " low")
    page.press(Qt.Key.Key_Escape)
    (page.behaviours / "crouch.json").write_text(json.dumps({**CROUCH, "title": "Elsewhere"}))
    page.window.behaviours.refresh()
    page.wait_until(lambda: [card.text() for card in own(page)] == ["Elsewhere"])
    choose(own(page)[0], EDIT)
    assert made.title.text() == "Elsewhere" and made.over.text() == "Restore"
    QTest.mouseClick(made.over, _LEFT)
    assert made.title.text() == "Crouching low"


def test_saving_an_unchanged_copy_twice_makes_one_file_and_keeps_the_changes_made_between(page: Page) -> None:
    page.show()
    shipped, made = page.window.grid.cards["walker-kneel"], page.window.behaviour_page
    assert isinstance(shipped, TaskCard)
    for _ in range(2):
        choose(shipped, EDIT_COPY)
        QTest.mouseClick(made.save, _LEFT)
        page.wait_until(lambda: page.message == "Saved Walker: kneeling." and len(own(page)) == 1)
        assert list(files(page)) == ["walker-kneel.json"]
        choose(own(page)[0], EDIT)
        made.title.end(False)
        QTest.keyClicks(made.title, "!")
        page.press(Qt.Key.Key_Escape)
    assert made.title.text() == "Walker: kneeling!!"


def test_a_copy_of_a_papers_task_keeps_its_figures(page: Page) -> None:
    page.show()
    shipped = page.window.grid.cards["hopper"]
    assert isinstance(shipped, TaskCard)
    choose(shipped, EDIT_COPY)
    QTest.mouseClick(page.window.behaviour_page.save, _LEFT)
    page.wait_until(lambda: page.message == "Saved Hopper." and len(own(page)) == 1)
    assert files(page)["hopper.json"] == shipped_behaviours()["hopper"]


def test_a_behaviour_with_expressions_opens_at_the_top_of_the_page(page: Page) -> None:
    (card,) = with_files(page, {**CROUCH, "oracle": "-height"})
    choose(card, EDIT)
    made = page.window.behaviour_page
    page.wait_until(lambda: made.expressions.oracle.isVisible() and made.area.verticalScrollBar().maximum() > 0)
    page.wait_until(lambda: made.view.clip is not None)
    assert made.area.verticalScrollBar().value() == 0
    for _ in range(2):
        QTest.mouseClick(made.fold, _LEFT)
    page.wait_until(lambda: made.area.verticalScrollBar().value() > 0)


def test_tab_follows_the_order_of_the_expressions_on_the_page(page: Page) -> None:
    with_files(page, {**CROUCH, "oracle": "-height"})
    choose(own(page)[0], EDIT)
    fields = page.window.behaviour_page.expressions
    page.wait_until(lambda: fields.oracle.isVisible())
    QTest.mouseClick(fields.add, _LEFT)
    page.wait_until(fields.plots[-1].expression.isVisible)
    assert fields.plots[-1].title.hasFocus()
    for widget in (fields.plots[-1].expression, None, fields.add, fields.oracle.expression):
        page.press(Qt.Key.Key_Tab)
        assert widget is None or widget.hasFocus()  # None: the button that removes the plot


def test_a_saved_behaviour_that_the_search_would_hide_is_shown(page: Page) -> None:
    (card,) = with_files(page, {**CROUCH, "title": "Deep crouch"})
    QTest.keyClicks(page.window.search, "deep")
    made = page.window.behaviour_page
    choose(card, EDIT)
    made.signals.search.setText("foot")
    made.title.selectAll()
    QTest.keyClicks(made.title, "Low")
    page.press(Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    page.wait_until(lambda: [one.text() for one in own(page)] == ["Low"])
    (changed,) = own(page)
    page.wait_until(changed.hasFocus)
    assert changed.isVisible() and page.window.search.text() == ""
    choose(changed, EDIT)
    assert made.signals.search.text() == ""


def test_tab_reaches_the_cards_found_by_a_search_after_the_focused_one_is_deleted(page: Page) -> None:
    (card,) = with_files(page, {**CROUCH, "title": "My kneeling"})
    page.window.search.setFocus()
    QTest.keyClicks(page.window.search, "kneel")
    page.press(Qt.Key.Key_Tab)
    assert card.hasFocus()
    choose(card, DELETE)
    page.wait_until(lambda: not own(page))
    page.window.search.setFocus()
    page.press(Qt.Key.Key_Tab)
    assert page.window.grid.cards["walker-kneel"].hasFocus()


def test_copies_of_one_behaviour_have_titles_of_their_own(page: Page) -> None:
    (card,) = with_files(page, CROUCH)
    titles = ["Crouching"]
    for title in ("Crouching (copy)", "Crouching (copy 2)"):
        choose(card, DUPLICATE)
        titles.append(title)
        page.wait_until(lambda: sorted(one.text() for one in own(page)) == sorted(titles))
        (card,) = [one for one in own(page) if one.text() == "Crouching"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_an_editors_lock_file_hides_no_behaviour(page: Page) -> None:
    page.behaviours.mkdir()
    (page.behaviours / ".#crouch.json").symlink_to("user@host.1")
    (page.behaviours / "gone.json").symlink_to("nowhere")
    (page.behaviours / "crouch.json").write_text(json.dumps(CROUCH))
    page.show()
    page.wait_until(lambda: [card.text() for card in own(page)] == ["Crouching"])
    page.wait_until(lambda: "gone.json" in page.message)


def test_an_ampersand_in_a_title_is_no_shortcut(page: Page) -> None:
    (card,) = with_files(page, {**CROUCH, "title": "Rock &Roll"})
    assert card.text() == "Rock &Roll" and card.shortcut().isEmpty()


def test_a_plot_that_the_chosen_robot_lacks_is_unfolded_for_correction(page: Page) -> None:
    made = opened(page)
    fill(made)
    made.draft.plot_signal("joint[foot_joint]", True)
    assert not made.fold.isChecked()
    made.robots.cards["ant"].click()
    assert made.problem.text() == "Correct the marked fields." and made.fold.isChecked()


def test_a_refused_start_keeps_the_choices_and_the_focus(page: Page) -> None:
    page.root.mkdir(exist_ok=True)
    create_session(page.root / "untrained", session_config("hopper-backflip")).close()
    page.show().window.show_new_behaviour()
    made = page.window.behaviour_page
    fill(made)
    page.wait_until(made.begin_from.isVisible)
    made.begin_from.source.setCurrentIndex(1)
    made.begin_from.source.activated.emit(1)
    made.title.setFocus()
    page.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    page.wait_until(lambda: "has learned nothing yet" in page.message)
    assert made.begin_from.chosen is not None and made.title.hasFocus()
    QTest.keyClicks(made.instruction, " Or sits.")
    page.press(Qt.Key.Key_Escape)
    (card,) = own(page)
    choose(card, EDIT)
    assert made.instruction.toPlainText() == SENTENCE + " Or sits." and made.begin_from.chosen is not None


def test_a_damaged_file_is_reported_and_the_others_are_listed(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    page.behaviours.mkdir()
    (page.behaviours / "bad.json").write_text("{")
    (page.behaviours / "crouch.json").write_text(json.dumps(CROUCH))
    page.show()
    page.wait_until(lambda: len(own(page)) == 1)
    assert "bad.json is invalid: It is not valid JSON" in page.message and "bad.json" in caplog.text


@pytest.mark.slow_after_first
@pytest.mark.parametrize("look", [Appearance.DARK, Appearance.LIGHT])
def test_nothing_is_cut_off(page: Page, look: Appearance, picture: Callable[[QWidget, str], None]) -> None:
    theme.choose(look)
    try:
        made = opened(page)
        fill(made)
        QTest.mouseClick(made.fold, _LEFT)
        QTest.keyClicks(made.expressions.oracle.expression, "up - heigth")
        page.wait_until(lambda: clipped(made) == [])
        picture(page.window, f"behaviour-{look}")
        assert (page.window.width(), page.window.height()) == (1280, 720)
    finally:
        theme.choose(Appearance.DARK)
