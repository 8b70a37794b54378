"""Instructions of the games."""

from __future__ import annotations

import pytest

from core.tasks import CATALOGUE
from core.tasks.base import Task

GAMES = [task for task in CATALOGUE.values() if task.pictures is not None]


@pytest.mark.parametrize("task", GAMES, ids=lambda task: task.name)
def test_an_instruction_says_what_to_answer_if_a_clip_shows_nothing(task: Task) -> None:
    even = task.name == "enduro-even"  # keeping pace is visible in every clip
    assert task.instruction.endswith("answer with a tie.") != even
