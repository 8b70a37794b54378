"""Driver of the page of behaviours: opens it and fills it in."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.behaviours.page import BehaviourPage
from tests.app.start_page_driver import Page

SENTENCE = "Choose the clip in which the robot kneels more steadily."


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
