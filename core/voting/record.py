"""votes.jsonl in a session's folder: one line for each answer of an audience, with its votes."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.io import files
from core.types import Choice

NAME = "votes.jsonl"
MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class Votes:
    """Votes on the pair of one answer. counts: number of votes by choice; voters: choices by random voter identifier"""

    answer: int
    choice: Choice
    counts: dict[str, int]
    voters: dict[str, str]


def append_votes(folder: Path, answer: int, choice: Choice, voters: Mapping[str, Choice]) -> None:
    """Append the votes for the answer with this number. Raises UserError if they can't be written."""
    files.require_session(folder)
    line = {"answer": answer, "choice": str(choice), "voters": {name: str(vote) for name, vote in voters.items()}}
    try:
        with open(folder / NAME, "ab+", opener=files.open_regular) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            cut_off = file.read(1) not in (b"", b"\n")  # by a crash; the new line must not be appended to it
            file.write((b"\n" if cut_off else b"") + json.dumps(line).encode() + b"\n")
            file.flush()
    except OSError as error:
        raise files.unwritable(folder / NAME, error) from error


def read_votes(folder: Path) -> dict[int, Votes]:
    """Return the votes by the number of their answer; empty if there were none. Damaged lines are left out.

    Raises UserError if the file can't be read.
    """
    try:
        lines = files.read_regular(folder / NAME, MAX_BYTES).splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{folder / NAME} can't be read ({files.reason(error)}): move it away.") from error
    return {votes.answer: votes for line in lines if (votes := _parse(line))}


def _parse(line: bytearray) -> Votes | None:
    """Parse one line; None if it is damaged, for example cut off by a crash."""
    try:
        values = json.loads(line)
        voters = {str(name): str(Choice(vote)) for name, vote in values["voters"].items()}
        counts = Counter(voters.values())
        return Votes(int(values["answer"]), Choice(values["choice"]), {str(c): counts[c] for c in Choice}, voters)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
