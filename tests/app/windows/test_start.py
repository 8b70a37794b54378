"""The start window: its cards and its list of sessions, by keys and mouse."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QEnterEvent, QImage, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.menus.key_list import KeyList
from app.previews.picture_cards import PictureCard
from app.session.factory import create_session, session_config
from app.start_page.goals import goal
from app.start_page.task_card import TaskCard
from app.start_page.task_grid import GAMES, OWN, ROBOTS, SHIPPED
from app.style import theme
from app.style.glossary import Glossary
from app.style.theme import Appearance
from core.errors import UserError
from core.tasks import CATALOGUE, behaviours, get_task
from core.types import Choice, Teacher
from tests.app.clipping import clipped
from tests.app.fakes import Picture
from tests.app.start_page_driver import Page, make_session, practice_pair
from tests.app.tape import has_colour
from tests.core.builders import raising


def test_every_task_has_a_card_with_a_moving_picture(page: Page) -> None:
    page.show()
    cards = page.window.grid.cards
    assert set(cards) == {*CATALOGUE, *behaviours()}
    page.wait_for_pictures()
    assert page.drawers.asked == list(cards)
    card = cards["hopper-backflip"]
    assert card.accessibleName() == "Hopper: backflips"
    described = card.accessibleDescription()
    assert described.startswith("A one-legged robot jumps and turns over backward. 50 to 300 answers, 5 to 30 min.")
    assert described.endswith(
        f"{CATALOGUE['hopper-backflip'].instruction} The picture was recorded before any training."
    )
    seen: set[bytes] = set()

    def moves() -> bool:
        image = card.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        seen.add(bytes(image.constBits()))
        return len(seen) > 2

    page.wait_until(moves)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("look", [Appearance.DARK, Appearance.LIGHT])
def test_nothing_is_cut_off_on_a_small_screen(page: Page, look: Appearance, picture: Picture) -> None:
    theme.choose(look)
    try:
        make_session(page.root, "a-session-with-a-name-so-long-that-no-list-could-ever-show-it-whole", labels=12)
        page.show()
        page.wait_for_pictures()
        page.wait_until(lambda: page.clipped() == [])
        picture(page.window, f"start-{look}")
        page.window.show_failure(f"{page.root} is a folder with a very long name, of which there is much to say. " * 3)
        assert page.window.banner.accessibleDescription().startswith(str(page.root))  # for screen readers
        page.wait_until(lambda: page.clipped() == [])
        page.window.show_form("reacher")
        page.wait_until(lambda: clipped(page.window.form) == [])
        assert (page.window.width(), page.window.height()) == (1280, 720)
    finally:
        theme.choose(Appearance.DARK)


def test_a_task_that_cannot_be_drawn_is_reported_and_can_be_taught(
    make_page: Callable[..., Page], caplog: pytest.LogCaptureFixture
) -> None:
    page = make_page(refused={"swimmer": "swimmer can't be drawn: there is no OpenGL here."}).show()
    page.wait_for_pictures()
    card = page.window.grid.cards["swimmer"]
    assert card.picture.words == "swimmer can't be drawn: there is no OpenGL here."
    assert card.picture.words in card.accessibleDescription() and card.picture.words in caplog.text
    card.menu.actions()[0].trigger()
    assert page.window.form.draft.task == "swimmer"
    page.press(Qt.Key.Key_Escape)
    card.click()
    page.wait_until(lambda: [session.folder.name for session in page.opened] == ["swimmer-1"])


def test_the_form_proposes_a_name_that_no_session_has(page: Page) -> None:
    make_session(page.root, "reacher-1")
    page.show()
    page.window.show_form("reacher")
    page.wait_until(lambda: page.window.form.folder.name.text() == "reacher-2")


def test_leaving_a_form_clears_its_problem(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    page.show()
    page.window.show_form("reacher")
    refused = UserError("reacher-1 can't be written (Read-only file system): check that the folder may be written.")
    monkeypatch.setattr("app.session.library.create_session", raising(refused))
    page.window.form.create_button.click()
    page.wait_until(lambda: page.message == str(refused))
    page.press(Qt.Key.Key_Escape)
    assert page.window.pages.currentWidget() is page.window.front and page.message == ""


def test_a_click_starts_with_the_settings_for_a_person(page: Page) -> None:
    page.show()
    card = page.window.grid.cards["walker-kneel"]
    page.window.area.ensureWidgetVisible(card)
    QTest.mouseClick(card, Qt.MouseButton.LeftButton)
    page.wait_until(lambda: len(page.opened) == 1)
    session = page.opened[0]
    assert session.folder.name == "walker-kneel-1" and session.config == session_config("walker-kneel")
    assert session.config.teacher == "human"


def test_a_new_session_of_a_shipped_task_begins_with_the_answers_of_another_one(page: Page) -> None:
    old = create_session(page.root / "stuck", session_config("hopper-backflip"))
    with closing(old.store()) as store:
        for number, choice in enumerate((Choice.LEFT, Choice.CANT_TELL)):
            store.add(practice_pair(get_task("hopper-backflip"), number), choice, Teacher.HUMAN)
    old.close()
    page.show()
    page.wait_until(lambda: page.window.sessions.list.current is not None)
    page.window.show_form("reacher")
    form = page.window.form
    assert not form.begin_from.isVisible()
    page.window.show_form("hopper-backflip")
    page.wait_until(form.begin_from.isVisible)
    form.begin_from.source.setFocus()
    QTest.keyClick(form.begin_from.source, Qt.Key.Key_Down)
    for name in ("reward", "policy"):
        assert not form.begin_from.nothing.isVisible()
        QTest.keyClick(form.begin_from.parts[name], Qt.Key.Key_Space)
    assert form.begin_from.nothing.isVisible()
    assert clipped(form) == []
    QTest.keyClick(form.begin_from.parts["answers"], Qt.Key.Key_Space)
    assert not form.begin_from.nothing.isVisible()
    assert clipped(form) == []
    fields = *form.fields.values(), form.folder.name, form.begin_from.source
    page.wait_until(lambda: len({(field.mapTo(form, QPoint()).x(), field.width()) for field in fields}) == 1)
    heights = [field.height() for field in fields]
    assert max(heights) - min(heights) <= 1
    form.create_button.click()
    page.wait_until(lambda: bool(page.opened))
    (new,) = page.opened
    with closing(new.store()) as store:
        assert [answer.choice for answer in store.each()] == [Choice.LEFT, Choice.CANT_TELL]
    assert new.config.query.taken == 1 and new.config.labels == session_config("hopper-backflip").labels + 1


def test_cards_are_grouped_and_state_their_goal_in_one_sentence(page: Page) -> None:
    page.show()
    grid = page.window.grid
    for name, card in grid.cards.items():
        assert card.goal.endswith(".") and card.goal.count(".") == 1 and "clip" not in card.goal
        games = "3,300 answers, several hours", "3,000 answers, several hours", "1,300 answers, several hours"
        assert card.effort in ("50 to 300 answers, 5 to 30 min", *games), name
    shown = [grid.headings[title] for title in (SHIPPED, ROBOTS, GAMES)]
    page.wait_until(lambda: all(heading.isVisible() for heading in shown))
    for heading, name in zip(shown, ("hopper-backflip", "walker", "enduro-even"), strict=True):
        below = [other.y() for other in shown if other.y() > heading.y()] or [grid.height()]
        assert heading.y() < grid.cards[name].y() < min(below)
    assert not grid.headings[OWN].isVisible()
    card, palette = grid.cards["reacher"], theme.palette()
    image = card.grab().toImage().copy(card.width() // 2, 0, card.width() // 2 - 6, card.height() - 6)
    third = image.height() // 3
    for place, colour in ((third // 2, palette.muted), (2 * third, palette.blue)):  # the goal, and the effort below it
        assert has_colour(image.copy(0, place, image.width(), third), colour)


def test_the_text_of_a_card_keeps_its_distance_from_the_menu(page: Page) -> None:
    page.show()
    for card in page.window.grid.cards.values():
        assert isinstance(card, TaskCard)
        card.menu_button.hide()
        place = card.menu_button.geometry().adjusted(-4, 0, 0, 4)
        image = card.grab().toImage().copy(place)
        colours = {image.pixelColor(x, y).name() for x in range(place.width()) for y in range(place.height())}
        assert colours == {theme.palette().panel}, card.text()


def test_a_card_without_a_menu_uses_the_whole_width_for_its_title(page: Page) -> None:
    page.show()
    card = page.window.grid.new_card
    image = card.grab().toImage().copy(card.width() - 70, 8, 60, 20)
    assert has_colour(image, theme.palette().text)


def test_a_hovered_card_looks_different_from_a_focused_one(page: Page) -> None:
    def edge(card: PictureCard) -> set[str]:
        image = card.grab().toImage()
        return {image.pixelColor(image.width() // 2, y).name() for y in range(5)}

    page.show()
    page.wait_until(page.window.grid.new_card.hasFocus)
    palette = theme.palette()
    assert palette.blue in edge(page.window.grid.new_card)
    for card in (page.window.grid.cards["ant"], page.window.behaviour_page.robots.cards["ant"]):
        centre = QPointF(card.rect().center())
        QApplication.sendEvent(card, QEnterEvent(centre, centre, centre))
        assert palette.muted in edge(card) and palette.blue not in edge(card)


def test_a_behaviour_named_like_a_task_shows_its_instruction() -> None:
    own = replace(get_task("ant"), instruction="Choose the clip in which it sits.")
    assert goal(own) == "It sits." and goal(get_task("ant")) == "A four-legged robot walks forward."


def test_files_changed_in_another_program_are_listed_when_the_person_returns(page: Page) -> None:
    page.show()
    page.behaviours.mkdir(exist_ok=True)
    other = QWidget()
    other.show()
    other.activateWindow()
    page.wait_until(other.isActiveWindow)
    own = {
        "name": "low",
        "title": "Stay low",
        "robot": "hopper",
        "instruction": "Which one is lower?",
        "clip_seconds": 1,
    }
    (page.behaviours / "low.json").write_text(json.dumps(own))
    make_session(page.root, "taught")
    page.window.activateWindow()
    page.wait_until(lambda: "Stay low" in [card.text() for card in page.window.grid.cards.values()])
    page.wait_until(lambda: page.entries == ["taught"])
    other.close()


def test_a_search_finds_cards_by_any_of_their_words(page: Page) -> None:
    page.show()
    grid = page.window.grid
    page.press(Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)

    def found(words: str) -> set[str]:
        page.window.search.selectAll()
        QTest.keyClicks(page.window.search, words)
        return {name for name, card in grid.cards.items() if card.isVisible()}

    assert found("backward air") == {"half-cheetah-backflip"}
    assert found("games ball") == {"pong", "breakout"}
    assert found("no such thing") == set() and grid.no_match.isVisible()
    page.window.search.clear()
    assert all(card.isVisible() for card in grid.cards.values()) and not grid.no_match.isVisible()
    found("kneel")
    page.press(Qt.Key.Key_Tab)
    assert grid.cards["walker-kneel"].hasFocus()
    page.press(Qt.Key.Key_Down)
    assert grid.cards["walker-kneel"].hasFocus()


def test_pictures_rest_while_the_window_is_hidden_and_return_from_the_cache(page: Page) -> None:
    page.show()
    page.wait_for_pictures()
    assert page.window.grid.clock.isActive()
    page.window.hide()
    assert not page.window.grid.clock.isActive()
    assert all(card.picture.preview is None for card in page.window.grid.cards.values())
    page.window.show()
    page.wait_for_pictures()
    assert page.window.grid.clock.isActive()
    assert len(page.drawers.asked) == len(page.window.grid.cards)


@pytest.mark.parametrize("key", ["F1", "Ctrl+?"])
def test_the_list_of_keys_has_all_those_of_the_start_page_first(page: Page, key: str) -> None:
    window = page.show().window
    QTest.keySequence(window, QKeySequence(key))
    shown = window.findChild(KeyList)
    page.wait_until(shown.isVisible)
    lines = shown.text.toPlainText().splitlines()
    assert lines.index("Start page") < lines.index("A behaviour of your own") < lines.index("Session")
    listed = {name for line in lines for name in line.split(" or ")} | {"Del", "Ctrl+Return"}
    used = {name.toString() for action in window.findChildren(QAction) for name in action.shortcuts()}
    assert used - listed == set() and len(used) > 12
    assert {"Delete", "Ctrl+Enter"} <= listed
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    page.wait_until(lambda: window.findChild(KeyList) is None)


def test_a_question_mark_opens_the_glossary_unless_typed_in_a_field(page: Page) -> None:
    window = page.show().window
    window.search.setFocus()
    QTest.keyClicks(window.search, "?")
    assert window.search.text() == "?" and window.findChild(Glossary) is None
    window.search.clear()
    window.grid.new_card.setFocus()
    QTest.keySequence(window, QKeySequence("?"))
    page.wait_until(lambda: window.findChild(Glossary) is not None)
    window.findChild(Glossary).close()


def test_arrows_move_between_cards_and_enter_chooses(page: Page) -> None:
    page.show()
    grid = page.window.grid
    cards = {"new": grid.new_card, **grid.cards}
    tasks, columns = list(cards), grid.columns
    assert columns > 1
    page.wait_until(grid.new_card.hasFocus)

    def focused() -> str:
        return next((name for name, card in cards.items() if card.hasFocus()), "")

    for key, expected in (
        (Qt.Key.Key_Left, 0),
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_Down, 1 + columns),
        (Qt.Key.Key_Up, 1),
        (Qt.Key.Key_Up, 1),
        (Qt.Key.Key_End, len(tasks) - 1),
        (Qt.Key.Key_Right, len(tasks) - 1),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_Right, 1),
    ):
        page.press(key)
        assert focused() == tasks[expected]
    page.press(Qt.Key.Key_Tab)
    assert focused() == ""
    page.press(Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
    assert focused() == tasks[1]
    cards[tasks[1]].menu.actions()[0].trigger()
    assert page.window.pages.currentWidget() is page.window.form
    assert page.window.form.draft.task == tasks[1]
    page.press(Qt.Key.Key_Escape)
    assert focused() == tasks[1]
    page.press(Qt.Key.Key_Return)
    page.wait_until(lambda: [session.config.task for session in page.opened] == [tasks[1]])
