"""votes.jsonl in a session's folder: the votes behind an answer, one line each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.io import files
from core.types import Choice

NAME = "votes.jsonl"
_MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class Votes:
    """Votes on the pair of one answer. counts: by choice; voters: choice of each, by random identifier"""

    answer: int
    choice: Choice
    counts: dict[str, int]
    voters: dict[str, str]


def append_votes(folder: Path, answer: int, choice: Choice, voters: Mapping[str, Choice]) -> None:
    """Add a line on the answer with this number. Raises UserError if it can't be written."""
    files.require_session(folder)
    line = {"answer": answer, "choice": str(choice), "voters": {name: str(vote) for name, vote in voters.items()}}
    try:
        with open(folder / NAME, "a", encoding="utf-8", opener=files.open_own) as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
    except OSError as error:
        raise files.unwritable(folder / NAME, error) from error


def read_votes(folder: Path) -> dict[int, Votes]:
    """Votes by the number of their answer; none if the room never voted. Lines that can't be read are left out.

    Raises UserError if the file can't be read at all.
    """
    try:
        lines = files.read_regular(folder / NAME, _MAX_BYTES).splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{folder / NAME} can't be read ({error}): move it away.") from error
    found = {}
    for line in lines:
        try:
            values = json.loads(line)
            voters = {str(name): str(Choice(vote)) for name, vote in values["voters"].items()}
            counts = {str(choice): list(voters.values()).count(choice) for choice in Choice}
            found[int(values["answer"])] = Votes(int(values["answer"]), Choice(values["choice"]), counts, voters)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # a line that was cut off by a crash
    return found
