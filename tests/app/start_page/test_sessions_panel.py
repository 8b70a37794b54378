"""Sessions on the start window: listed, opened, copied, deleted and imported, by keys and mouse."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QFile, Qt
from PySide6.QtTest import QTest

from app import settings
from app.workers import trash
from core.preferences.store import PreferenceStore
from core.session import library, summary
from core.session.archive import export_session
from core.session.session import Session, read_config
from core.tasks import CATALOGUE, get_task
from core.types import Choice
from tests.app.fakes import make_query, take_file
from tests.app.start_page_driver import Page, drop, make_session, practice_pair


def test_only_visible_pictures_of_two_hundred_sessions_are_requested(page: Page) -> None:
    tasks = list(CATALOGUE)
    for number in range(200):
        name = f"{tasks[number % len(tasks)]}-{number}"
        make_session(page.root, name, tasks[number % len(tasks)], number % 41, ago=3600.0 * number)
    page.show()
    assert page.entries[0] == f"{tasks[0]}-0" and len(page.entries) == 200
    assert page.rows.hasFocus() and page.chosen == page.entries[0]
    page.wait_for_pictures()
    page.press(Qt.Key.Key_End)
    assert page.chosen.endswith("-199")
    page.window.resize(1920, 1080)
    page.wait_until(lambda: bool(page.rows.session_model.pictures))
    asked = len(page.rows.session_model.pictures)
    assert 0 < asked < 60  # only visible ones


def test_the_list_hides_the_best_result_if_the_session_does(page: Page) -> None:
    make_session(page.root, "taught", labels=16)
    page.show()
    spoken = page.rows.session_model.index(0)
    assert "16,000 steps" in spoken.data(Qt.ItemDataRole.AccessibleTextRole)
    settings.keep("plots/hide_true_reward", False)
    assert "Best 2" in spoken.data(Qt.ItemDataRole.AccessibleTextRole)


@pytest.mark.parametrize(
    ("measure", "shown"), [(None, "16,000 steps"), ({"name": "high", "expression": "highest(height)"}, "Best 2")]
)
def test_the_first_plot_of_a_behaviour_has_no_best_value(
    page: Page, measure: dict[str, str] | None, shown: str
) -> None:
    plots = [{"title": "Height (m)", "expression": "mean(height)"}]
    made = {"name": "crouch", "robot": "walker", "title": "Crouching", "instruction": "Choose.", "plots": plots}
    text = json.dumps({**made, "clip_seconds": 1.0, **({"measure": measure} if measure else {})})
    settings.keep("plots/hide_true_reward", False)
    make_session(page.root, "taught", text, labels=16)
    page.show()
    assert shown in page.rows.session_model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("way", ["enter", "double click", "button"])
def test_a_session_can_be_opened(page: Page, way: str) -> None:
    make_session(page.root, "first", ago=1)
    folder = make_session(page.root, "second", ago=2)
    page.show()
    if way == "enter":
        page.press(Qt.Key.Key_Down)
        page.press(Qt.Key.Key_Return)
    elif way == "double click":
        page.click_row(1, twice=True)
    else:
        page.click_row(1)
        page.click("Open")
    page.wait_until(lambda: [session.folder for session in page.opened] == [folder])


def test_a_session_open_elsewhere_is_reported_and_can_be_tried_again(page: Page) -> None:
    folder = make_session(page.root, "busy")
    other = Session.open(folder)
    page.show()
    page.press(Qt.Key.Key_Return)
    page.wait_until(lambda: "open in another Somersault" in page.message)
    assert page.opened == [] and page.window.pages.isEnabled()
    other.close()
    page.press(Qt.Key.Key_Return)
    page.wait_until(lambda: len(page.opened) == 1)


@pytest.mark.parametrize("damage", ["config.json", "preferences/log.jsonl"])
def test_a_damaged_session_is_listed_and_not_opened(page: Page, damage: str) -> None:
    make_session(page.root, "whole", ago=50)
    folder = make_session(page.root, "broken", ago=1)
    (folder / summary.NAME).unlink()
    (folder / damage).write_bytes(b"not what it was, by any means\n" * 100)
    page.show()
    assert page.entries == ["broken", "whole"]
    problem = page.rows.session_model.entries[0].problem
    assert damage in problem.replace("\\", "/") and problem.endswith(".") and "\n" not in problem
    page.press(Qt.Key.Key_Return)
    assert page.message == problem
    assert page.opened == []


@pytest.mark.slow_after_first
@pytest.mark.parametrize("way", ["key", "button", "menu"])
def test_a_session_can_be_duplicated(page: Page, way: str) -> None:
    folder = make_session(page.root, "mine", labels=20)
    with closing(PreferenceStore(folder / "preferences")) as store:
        store.add(make_query(), Choice.LEFT, "human")
    page.show()
    if way == "key":
        page.press(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    elif way == "button":
        page.click("Duplicate")
    else:
        (action,) = [action for action in page.rows.actions() if action.text() == "Duplicate"]
        action.trigger()
    page.wait_until(lambda: page.chosen == "mine-copy-1")
    assert page.message == "Duplicated mine as mine-copy-1."
    with closing(PreferenceStore(page.root / "mine-copy-1" / "preferences")) as store:
        assert store.count() == 1


@pytest.mark.slow_after_first
@pytest.mark.parametrize("way", ["key", "button"])
def test_a_session_can_be_started_over_with_its_answers(page: Page, way: str) -> None:
    folder = make_session(page.root, "stuck", labels=1)
    with closing(PreferenceStore(folder / "preferences")) as store:
        store.add(practice_pair(get_task("reacher")), Choice.LEFT, "human")
    page.show()
    if way == "key":
        page.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    else:
        page.click("Start over")
    page.wait_until(lambda: len(page.opened) == 1)
    (session,), old = page.opened, read_config(folder)
    assert session.folder.parent == page.root and session.config.task == old.task
    assert (old.policy.algorithm, session.config.policy.algorithm) == ("ppo", "sac")
    with closing(session.store()) as store:
        assert [row.choice for row in store.labels()] == [Choice.LEFT]


def test_a_session_without_answers_cannot_be_started_over(page: Page) -> None:
    folder = make_session(page.root, "fresh")
    page.show()
    page.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    page.wait_until(lambda: page.message == f"{folder} has no answers to begin with: answer some of its pairs first.")
    assert page.window.pages.isEnabled() and page.opened == [] and page.entries == ["fresh"]


def test_a_failed_copy_does_not_interrupt_the_opening_of_a_session(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def check_slowly(session: Session) -> Session:
        release.wait()
        return session

    monkeypatch.setattr("app.session.library.check_session", check_slowly)
    gone = make_session(page.root, "gone", ago=1)
    make_session(page.root, "there", ago=50)
    page.show()
    shutil.rmtree(gone)
    try:
        page.press(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
        page.press(Qt.Key.Key_Down)
        page.press(Qt.Key.Key_Return)
        page.wait_until(lambda: str(gone) in page.message)
        assert not page.window.pages.isEnabled()
    finally:
        release.set()
    page.wait_until(lambda: [session.folder.name for session in page.opened] == ["there"])


@pytest.mark.slow_after_first
@pytest.mark.parametrize("way", ["key", "button", "drop"])
def test_a_session_is_moved_to_the_trash_and_restored(page: Page, way: str) -> None:
    for number, name in enumerate(("a", "b", "c")):
        make_session(page.root, name, labels=number, ago=float(number))
    page.show()
    page.click_row(1)
    if way == "key":
        page.press(Qt.Key.Key_Delete)
    else:
        page.click("Trash")
    page.wait_until(lambda: page.entries == ["a", "c"])
    assert page.message == "Moved b to Trash." and page.chosen == "c"
    assert page.trashed == ["b"] and not (page.root / "b").exists()
    QTest.mouseClick(page.window.banner.buttons[0], Qt.MouseButton.LeftButton)
    page.wait_until(lambda: page.entries == ["a", "b", "c"])
    assert page.message == "Restored b." and page.chosen == "b" and page.trashed == []
    assert not page.window.banner.buttons[0].isVisible()
    page.click("Open")
    page.wait_until(lambda: [session.folder.name for session in page.opened] == ["b"])


def test_a_session_is_moved_to_the_trash_only_once(page: Page) -> None:
    folder = make_session(page.root, "mine", labels=2)
    page.show()
    for _ in range(2):
        page.window.library.move_to_trash(folder)
    page.wait_until(lambda: page.entries == [])
    page.window.library.move_to_trash(folder)  # as an outdated card would
    page.wait_until(lambda: "There is no session in" in page.message)
    assert page.trashed == ["mine"] and not folder.exists()


def test_a_folder_that_a_crash_left_without_a_config_is_moved_to_the_trash(page: Page) -> None:
    folder = make_session(page.root, "half", labels=0)
    (folder / "config.json").unlink()
    page.show()
    page.window.library.move_to_trash(folder)
    page.wait_until(lambda: page.trashed == ["half"])


def test_pressing_delete_again_before_the_list_is_read_keeps_the_undo(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("a", "b")):
        make_session(page.root, name, ago=float(number))
    page.show()
    release, refusals, sessions = threading.Event(), list[str](), library.sessions
    page.window.library.refused.connect(refusals.append)

    def listed_slowly(*places: Any) -> list[library.SessionEntry]:
        assert release.wait(60)
        return sessions(*places)

    with monkeypatch.context() as patch:
        patch.setattr(library, "sessions", listed_slowly)
        page.press(Qt.Key.Key_Delete)
        page.wait_until(lambda: page.message == "Moved a to Trash.")
        page.press(Qt.Key.Key_Delete)
        release.set()
        page.wait_until(lambda: page.entries == ["b"])
    page.press(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    page.wait_until(lambda: page.entries == ["a", "b"])
    assert page.message == "Restored a." and refusals == [] and page.trashed == []
    page.click_row(0)
    page.press(Qt.Key.Key_Delete)
    page.wait_until(lambda: page.trashed == ["a"])


def test_the_delete_key_works_only_on_sessions_and_once(page: Page) -> None:
    for name in ("a", "b"):
        make_session(page.root, name)
    page.show()
    page.window.grid.new_card.setFocus()
    page.press(Qt.Key.Key_Delete)
    actions = {action.text(): action for action in page.rows.actions()}
    assert not actions["Trash"].autoRepeat() and not actions["Duplicate"].autoRepeat()
    page.window.library.duplicate(page.root / "a")  # runs after all earlier requests
    page.wait_until(lambda: sorted(page.entries) == ["a", "a-copy-1", "b"])
    assert page.trashed == []


def test_a_session_is_not_restored_if_it_left_the_trash_or_was_replaced(page: Page) -> None:
    make_session(page.root, "mine")
    page.show()
    for obstacle in ("mine already exists", "mine is no longer in Trash"):
        page.press(Qt.Key.Key_Delete)
        page.wait_until(lambda: page.entries == [])
        if "exists" in obstacle:
            make_session(page.root, "mine")
        else:
            shutil.rmtree(page.trash / "files")
        QTest.mouseClick(page.window.banner.buttons[0], Qt.MouseButton.LeftButton)
        page.wait_until(lambda obstacle=obstacle: obstacle in page.message)
        page.window.library.refresh()
        page.wait_until(lambda obstacle=obstacle: page.entries == ["mine"] * ("exists" in obstacle))


def test_a_trash_that_names_no_place_offers_no_undo(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    class NamelessFile:
        def __init__(self, name: str) -> None:
            self.moveToTrash = QFile(name).moveToTrash

        def fileName(self) -> str:
            return ""

    monkeypatch.setattr(trash, "QFile", NamelessFile)
    make_session(page.root, "mine")
    page.show()
    page.press(Qt.Key.Key_Delete)
    page.wait_until(lambda: page.message == "Moved mine to Trash.")
    assert not page.window.banner.buttons[0].isVisible() and page.trashed == ["mine"]


def test_a_session_is_kept_with_a_message_if_there_is_no_trash(page: Page) -> None:
    folder = make_session(page.root, "mine")
    page.trash.write_text("in the way")
    page.show()
    page.press(Qt.Key.Key_Delete)
    page.wait_until(lambda: "mine could not be moved to Trash" in page.message)
    assert (folder / "config.json").exists() and page.entries == ["mine"]


def test_a_session_inside_another_folder_is_never_moved_to_the_trash(page: Page) -> None:
    inside = make_session(page.root / "group", "mine")
    page.show()
    assert page.entries == ["group"]
    page.press(Qt.Key.Key_Delete)
    page.wait_until(lambda: "group contains another session" in page.message)
    assert (inside / "config.json").exists() and page.trashed == []


@pytest.mark.parametrize("way", ["key", "button"])
def test_an_exported_session_is_imported(page: Page, tmp_path: Path, way: str) -> None:
    folder = make_session(page.root, "mine")
    session = Session.open(folder)
    export_session(session, tmp_path / "mine.somersault")
    session.close()
    page.show()
    if way == "key":
        page.press(Qt.Key.Key_I, Qt.KeyboardModifier.ControlModifier)
    elif way == "button":
        page.click("Import session…")
    if way == "drop":
        assert drop(page, tmp_path / "mine.somersault") and not drop(page, tmp_path / "mine.zip")
    else:
        take_file(page.window, tmp_path / "mine.somersault")
    page.wait_until(lambda: page.chosen == "mine-1")
    assert page.message == "Imported mine-1."
    assert page.rows.session_model.entries[0].problem == ""


def test_a_session_imported_under_the_proposed_name_changes_the_proposal(page: Page, tmp_path: Path) -> None:
    session = Session.open(make_session(tmp_path / "other", "reacher-1"))
    export_session(session, tmp_path / "reacher-1.part.somersault")
    session.close()
    page.show()
    page.window.show_form("reacher")
    assert page.window.form.folder.name.text() == "reacher-1"
    page.window.library.import_file(tmp_path / "reacher-1.part.somersault")
    page.wait_until(lambda: page.window.form.folder.name.text() == "reacher-2")
    page.wait_until(lambda: page.entries == ["reacher-1"])


def test_a_session_opened_from_elsewhere_is_listed_from_then_on(make_page: Callable[..., Page], tmp_path: Path) -> None:
    away = make_session(tmp_path / "usb", "stick")
    page = make_page().show()
    page.press(Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    take_file(page.window, away)
    page.wait_until(lambda: len(page.opened) == 1)
    page.window.library.refresh()
    page.wait_until(lambda: page.entries == ["stick"])
