"""Names of the labellers. Guests answer in demo mode, and their answers are stored under their own names."""

from app import settings
from core.errors import UserError
from core.types import AUDIENCE, GUEST, Teacher

_UNNAMED = "Guest "
"""Prefix of the numbered names of guests who give no name."""
_NAMES = {
    Teacher.HUMAN.value: "you",
    Teacher.ORACLE.value: "computer",
    Teacher.PERSON.value: "simulated person",
    AUDIENCE: "the audience",
}
_COUNT = "demo/guests"
MAX_NAME = 40
_JOINERS = "\u200c\u200d"
"""Invisible characters between others: within emoji, and in scripts such as Persian."""


def is_guest(labeller: str) -> bool:
    return labeller.startswith(GUEST)


def name_of(labeller: str) -> str:
    """Return the name of a labeller in lists: 'you', 'computer', 'Guest 2', 'Ada (guest)', 'the audience'."""
    if is_guest(labeller) and labeller not in _NAMES:
        name = labeller.removeprefix(GUEST)
        return name if name.startswith(_UNNAMED) else f"{name} (guest)"
    return _NAMES.get(labeller, labeller)


class Guests:
    """The current guest. A guest who gives no name gets a numbered one; no number is used twice.

    name: name of the current guest
    """

    def __init__(self) -> None:
        self.name = self.next_name

    @property
    def labeller(self) -> str:
        """Labeller of the current guest's answers."""
        return f"{GUEST}{self.name}"

    @property
    def next_name(self) -> str:
        """Name for a guest who gives none."""
        return f"{_UNNAMED}{_count() + 1}"

    def welcome(self, name: str) -> None:
        """Make another guest the current one; invisible characters are removed from the name, except those that join others.

        Raises UserError for the name that stands for the audience.
        """
        kept = ("".join(sign for sign in word if sign.isprintable() or sign in _JOINERS) for word in name.split())
        words = (word.strip(_JOINERS) for word in kept)
        name = " ".join(filter(None, words))[:MAX_NAME]
        if name.casefold() == _NAMES[AUDIENCE]:
            raise UserError("This name is reserved for the audience's votes: choose another for the guest.")
        self.name = name or self.next_name

    def note_answer(self, labeller: str) -> None:
        """Count the current guest at the first answer, if the guest gave no name."""
        if labeller == f"{GUEST}{self.next_name}":
            settings.keep(_COUNT, str(_count() + 1))


def _count() -> int:
    """Number of guests without a name so far."""
    text = settings.text(_COUNT, "0")
    return int(text) if text.isdecimal() else 0
