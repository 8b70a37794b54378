"""Driver of the page of behaviours: opens it and fills it in."""

from __future__ import annotations

import json

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.behaviours.page import BehaviourPage
from app.start_page.task_card import TaskCard
from core.behaviours.behaviour import Behaviour, read_file
from tests.app.start_page_driver import Page

SENTENCE = "Choose the clip in which the robot kneels more steadily."
CROUCH = {"name": "crouch", "robot": "walker", "title": "Crouching", "instruction": SENTENCE, "clip_seconds": 1.0}
"""Fields of a behaviour file."""


def opened(page: Page) -> BehaviourPage:
    """The page, opened by its card, with its first picture."""
    page.show()
    page.wait_until(page.window.grid.new_card.hasFocus)
    page.press(Qt.Key.Key_Return)
    made = page.window.behaviour_page
    page.wait_until(lambda: made.view.clip is not None)
    return made


def fill(made: BehaviourPage, title: str = "Kneeling") -> None:
    made.title.setFocus()
    QTest.keyClicks(made.title, title)
    made.instruction.setFocus()
    QTest.keyClicks(made.instruction, SENTENCE)


def with_files(page: Page, *behaviours: dict[str, object]) -> list[TaskCard]:
    """The start window over these files, and the cards of its own behaviours."""
    page.behaviours.mkdir()
    for values in behaviours:
        (page.behaviours / f"{values['name']}.json").write_text(json.dumps(values))
    page.show()
    page.wait_until(lambda: len(own(page)) == len(behaviours))
    return own(page)


def own(page: Page) -> list[TaskCard]:
    cards = page.window.grid.cards
    return [card for task, card in cards.items() if task.startswith("{") and isinstance(card, TaskCard)]


def choose(card: TaskCard, text: str) -> None:
    """Open the card's menu by a click on its button and choose this entry by keys."""
    card.menu.popup(QPoint(10, 10))
    (action,) = [action for action in card.menu.actions() if action.text() == text]
    card.menu.setActiveAction(action)
    QTest.keyClick(card.menu, Qt.Key.Key_Return)


def files(page: Page) -> dict[str, Behaviour]:
    return {path.name: read_file(path) for path in sorted(page.behaviours.glob("*"))}
