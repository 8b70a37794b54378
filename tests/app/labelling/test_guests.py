"""Guests' names, and their answers in the history."""

from __future__ import annotations

import pytest

from app.history.preference_text import GUESTS, PreferenceFilter
from app.labelling.guests import MAX_NAME, Guests, name_of
from core.errors import UserError
from core.preferences.store import PreferenceSummary
from core.types import AUDIENCE, Choice


def test_a_guest_without_a_name_gets_a_number_that_no_other_has_even_after_a_restart() -> None:
    guests = Guests()
    assert guests.name == "Guest 1" == Guests().name  # no guest has answered yet
    guests.note_answer(guests.labeller)
    guests.note_answer(guests.labeller)
    assert guests.name == "Guest 1" and guests.next_name == "Guest 2" == Guests().name
    guests.welcome("  Ada\nLovelace ")
    assert guests.labeller == "guest: Ada Lovelace"
    guests.note_answer(guests.labeller)
    guests.welcome(" ")
    assert guests.name == "Guest 2"
    guests.welcome("x" * 1000)
    assert len(guests.name) == MAX_NAME


def test_guests_cannot_be_named_like_the_audience_or_with_hidden_characters() -> None:
    guests = Guests()
    guests.welcome("Ada")
    for name in ("the audience", " The  Audience", "the audi\u200bence"):
        with pytest.raises(UserError, match="choose another"):
            guests.welcome(name)
        assert guests.name == "Ada"
    guests.welcome("Gr\u202eace\0 \u202e Hopper\x07")
    assert guests.name == "Grace Hopper"
    guests.welcome("👩\u200d🚀 Zoë\u200d")
    assert guests.name == "👩\u200d🚀 Zoë"
    guests.welcome("\u202e\u200d")
    assert guests.name == "Guest 1"


@pytest.mark.parametrize(
    ("labeller", "is_guest"), [("guest: oracle", True), ("human", False), ("oracle", False), (AUDIENCE, False)]
)
def test_the_history_filters_guests_and_teachers_separately(labeller: str, is_guest: bool) -> None:
    row = PreferenceSummary(1, Choice.LEFT, labeller, 0.0)
    assert PreferenceFilter(labeller=GUESTS).passes(row) == is_guest
    assert PreferenceFilter(labeller=labeller).passes(row) and PreferenceFilter().passes(row)


@pytest.mark.parametrize(
    ("labeller", "expected"),
    [
        ("human", "you"),
        ("oracle", "computer"),
        ("guest: Guest 2", "Guest 2"),
        ("guest: oracle", "oracle (guest)"),
        (AUDIENCE, "the audience"),
    ],
)
def test_labellers_have_the_same_names_in_lists_as_in_the_window(labeller: str, expected: str) -> None:
    assert name_of(labeller) == expected
