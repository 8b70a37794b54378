"""Names of those who answer; guests, who answer in demo mode, have their answers stored under their own names."""

from app import settings
from core.errors import UserError
from core.types import AUDIENCE, GUEST, Teacher

_UNNAMED = "Guest "
"""Prefix of the names of guests who give none."""
_NAMES = {
    Teacher.HUMAN.value: "you",
    Teacher.ORACLE.value: "computer",
    Teacher.PERSON.value: "simulated person",
    AUDIENCE: "the audience",
}
_COUNT = "demo/guests"
MAX_NAME = 40


def is_guest(labeller: str) -> bool:
    return labeller.startswith(GUEST)


def name_of(labeller: str) -> str:
    """Return what lists call a labeller: 'you', 'computer', 'Guest 2', 'Ada (guest)', 'the audience'."""
    if is_guest(labeller) and labeller not in _NAMES:
        name = labeller.removeprefix(GUEST)
        return name if name.startswith(_UNNAMED) else f"{name} (guest)"
    return _NAMES.get(labeller, labeller)


class Guests:
    """The guest at the keys. A number stands for the name of a guest who gives none; no number is used twice.

    name: of the current guest
    """

    def __init__(self) -> None:
        self.name = self.next_name

    @property
    def labeller(self) -> str:
        """Labeller of the current guest's answers."""
        return f"{GUEST}{self.name}"

    @property
    def next_name(self) -> str:
        """Name of a guest who gives none."""
        return f"{_UNNAMED}{_count() + 1}"

    def welcome(self, name: str) -> None:
        """Let another guest answer; characters that can't be seen are left out of the name.

        Raises UserError for the name of the audience, whose answers are its majority's.
        """
        words = ("".join(filter(str.isprintable, word)) for word in name.split())
        name = " ".join(filter(None, words))[:MAX_NAME]
        if name.casefold() == _NAMES[AUDIENCE]:
            raise UserError("This name stands for the audience's votes: choose another for the guest.")
        self.name = name or self.next_name

    def note_answer(self, labeller: str) -> None:
        """Count the current guest at the first answer, if the guest gave no name."""
        if labeller == f"{GUEST}{self.next_name}":
            settings.keep(_COUNT, str(_count() + 1))


def _count() -> int:
    """Number of guests without a name so far."""
    text = settings.text(_COUNT, "0")
    return int(text) if text.isdecimal() else 0
