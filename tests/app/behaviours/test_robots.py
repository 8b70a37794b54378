"""Robots on the page of behaviours: from files, from saved behaviours, and robots that can't be drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.session.factory import create_session, session_config
from app.start_page.task_grid import EDIT
from core.behaviours.shipped import shipped_behaviours
from tests.app.behaviour_page_driver import CROUCH, choose, files, fill, opened, own, with_files
from tests.app.start_page_driver import SWINGER, Page, drop

_LEFT = Qt.MouseButton.LeftButton


def test_dropped_behaviour_and_robot_files_are_imported(page: Page, tmp_path: Path) -> None:
    page.show()
    page.wait_until(page.window.grid.new_card.hasFocus)
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(CROUCH))
    QTest.keyClicks(page.window.search, "ant")
    assert drop(page, file) and not drop(page, tmp_path / "mine.txt")
    page.wait_until(lambda: [card.text() for card in own(page)] == ["Crouching"])
    assert page.message == "Imported Crouching." and page.window.search.text() == "" and own(page)[0].isVisible()
    drop(page, file)
    page.wait_until(lambda: page.message == "Crouching is already among your behaviours.")
    file.write_text(json.dumps({**CROUCH, "robot": "wlker"}))
    drop(page, file)
    page.wait_until(lambda: "mine.json is invalid: There is no robot 'wlker': did you mean walker?" in page.message)
    drop(page, tmp_path / "stone.xml")
    page.wait_until(lambda: "stone.xml can't be used as a robot: it has no actuators." in page.message)
    drop(page, tmp_path / "swinger.xml")
    made = page.window.behaviour_page
    page.wait_until(lambda: made.isVisible() and made.robots.chosen == "mjcf:swinger.xml")
    assert made.draft.model == SWINGER and made.draft.starts == ("standing", "random")
    page.wait_until(lambda: made.robots.cards["mjcf:swinger.xml"].picture.preview is not None)
    fill(made, "Swinging")
    assert made.problem.text().startswith("Practise")
    QTest.mouseClick(made.save, _LEFT)
    page.wait_until(lambda: page.message == "Saved Swinging.")
    assert files(page)["swinging.json"].model == SWINGER


def test_a_robot_that_cannot_be_drawn_is_reported_and_not_requested_again(make_page: Callable[..., Page]) -> None:
    page = make_page(refused={"swimmer": "swimmer can't be drawn: there is no OpenGL here."})
    made = opened(page)
    card = made.robots.cards["swimmer"]
    page.wait_until(lambda: "no OpenGL here" in card.toolTip())
    page.wait_for_pictures()
    asked = page.drawers.asked.count("swimmer")
    card.click()
    made.request_previews()
    page.wait_until(lambda: made.view.clip is not None and not made.robots.missing())
    assert page.drawers.asked.count("swimmer") == asked


def test_a_robot_that_is_read_late_changes_neither_another_behaviour_nor_practice(page: Page, tmp_path: Path) -> None:
    made = opened(page)
    fill(made)
    drop(page, tmp_path / "swinger.xml")
    made.practise.click()
    page.wait_until(lambda: made.practice.clips.shown is not None)
    page.wait_until(lambda: "mjcf:swinger.xml" in made.robots.cards)
    assert made.draft.robot == "hopper" and made.practice.hasFocus()
    assert page.message == "swinger can now be chosen as the robot of a behaviour of your own."
    QTest.keyClick(made.practice, Qt.Key.Key_Left)
    assert len(made.practice.answers) == 1
    QTest.keyClick(made.practice, Qt.Key.Key_Escape)
    drop(page, tmp_path / "swinger.xml")
    made.open_behaviour(shipped_behaviours()["walker-kneel"])
    page.window.show_message("")
    page.wait_until(lambda: "can now be chosen" in page.message)
    assert made.draft.robot == "walker" and made.title.text() == "Walker: kneeling"


def test_a_robot_file_dropped_elsewhere_changes_no_behaviour_being_edited(page: Page, tmp_path: Path) -> None:
    (card,) = with_files(page, CROUCH)
    drop(page, tmp_path / "swinger.xml")
    choose(card, EDIT)
    drop(page, tmp_path / "stone.xml")
    made = page.window.behaviour_page
    page.wait_until(lambda: "mjcf:swinger.xml" in made.robots.cards and "stone.xml can't be used" in page.message)
    assert made.title.text() == "Crouching" and made.draft.robot == "walker"


def test_two_robots_from_files_of_the_same_name_are_kept_apart(page: Page) -> None:
    made = opened(page)
    other = replace(SWINGER, distance=9.0)
    for model in (SWINGER, other, SWINGER):
        made.add_robot("mjcf:scene.xml", model)
    assert [name for name in made.robots.cards if "scene" in name] == ["mjcf:scene.xml", "mjcf:scene (2).xml"]
    assert made.draft.model == SWINGER
    made.robots.cards["mjcf:scene (2).xml"].click()
    assert made.draft.model == other and made.draft.robot == "mjcf:scene (2).xml"


def test_two_saved_robots_from_files_of_the_same_name_keep_their_own_settings(page: Page) -> None:
    swing = {**CROUCH, "robot": "mjcf:scene.xml"}
    far = {
        **swing,
        "name": "far",
        "title": "Far",
        "model": replace(SWINGER, distance=9.0).to_dict(),
        "control_rate": 50,
    }
    with_files(page, {**swing, "model": SWINGER.to_dict(), "start": "random", "episode_seconds": 4}, far)
    made = page.window.behaviour_page
    for title in ("Far", "Crouching"):
        (card,) = [card for card in own(page) if card.text() == title]
        choose(card, EDIT)
        behaviour, chosen = made.draft.behaviour, made.robots.chosen
        (other,) = [name for name in made.robots.cards if "scene" in name and name != chosen]
        for name in (other, chosen, chosen):
            QTest.mouseClick(made.robots.cards[name], _LEFT)
        assert made.robots.chosen == chosen and made.draft.behaviour == behaviour and not made.unsaved_title


def test_robots_of_saved_behaviours_are_offered_and_sessions_of_other_robots_are_not(page: Page) -> None:
    create_session(page.root / "old", session_config("walker-kneel")).close()
    values = {**CROUCH, "name": "swing", "title": "Swinging", "robot": "mjcf:swinger.xml", "model": SWINGER.to_dict()}
    with_files(page, values)
    page.window.show_new_behaviour()
    made = page.window.behaviour_page
    assert "mjcf:swinger.xml" in made.robots.cards
    made.robots.cards["walker"].click()
    page.wait_until(lambda: made.begin_from.source.count() == 2)
    made.robots.cards["ant"].click()
    assert not made.begin_from.isVisible()
