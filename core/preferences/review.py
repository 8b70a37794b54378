"""Answers looked at again: which ones the predictor doubts, and how often a person answers alike. Pure.

A person may be shown some pairs a second time (QueryConfig.repeats), left and right swapped at random. Such a repeat is
kept with a link to the first answer; it is never fitted to and counts as no label, since a pair trained on twice would
weigh double. What it is for: the method assumes that one answer in ten is given at random (2.2.3), and nobody knows
that of himself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from core.config import QueryConfig
from core.preferences.records import PreferenceSummary
from core.types import Choice, Preference, Query

DOUBTED = 0.5
"""From this contradiction on an answer counts as doubted."""
_SWAPPED = {Choice.LEFT: Choice.RIGHT, Choice.RIGHT: Choice.LEFT}
_Z = 1.96
"""Of the 95% interval."""


def contradiction(choice: Choice | None, left: float) -> float:
    """How much a prediction, left = P[left is preferred], contradicts an answer: from 0, not at all, to 1.

    For a side it is the probability of the other side. For a tie it is how far the prediction is from .5, as a share of
    how far it can be: so a tie is doubted where P is below .25 or above .75. Can't tell claims nothing.
    """
    match choice:
        case Choice.LEFT:
            return 1 - left
        case Choice.RIGHT:
            return left
        case Choice.TIE:
            return abs(2 * left - 1)
        case _:
            return 0.0


def contradicted(rows: Iterable[PreferenceSummary], left: Mapping[int, float]) -> list[tuple[PreferenceSummary, float]]:
    """The answers that the predictions contradict, the most contradicted first, each with how much.

    left: P[left is preferred] by number of the answer; one without a prediction is not fitted to and not doubted.
    """
    found = [(row, contradiction(row.choice, left[row.id])) for row in rows if row.id in left and not row.withdrawn]
    return sorted(((row, much) for row, much in found if much > DOUBTED), key=lambda pair: (-pair[1], pair[0].id))


@dataclass(frozen=True)
class Consistency:
    """How often a person gave the same answer to a pair that came again. Pairs of which an answer was taken back or
    can't be read are not counted at all."""

    alike: int
    """The same side of the pair, however it was swapped, or a tie twice."""
    compared: int
    """Of those where neither answer is can't tell, which contradicts nothing."""
    untold: int
    """Repeats left out because one of the two answers is can't tell."""

    @property
    def share(self) -> float:
        return self.alike / self.compared if self.compared else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of the share."""
        n, share = self.compared, self.share
        if not n:
            return 0.0, 1.0
        middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        reach = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        return max(0.0, middle - reach), min(1.0, middle + reach)


def repeatable(rows: Iterable[PreferenceSummary], after: int, labeller: str) -> list[int]:
    """Numbers of the answers that may be put to this labeller again: at least `after` others were given since.

    Those that stand and say something, each once.
    """
    standing = [row for row in rows if not row.withdrawn]
    done = {row.repeats for row in standing}
    return [
        row.id
        for row in standing[: max(0, len(standing) - after)]
        if row.labeller == labeller
        and row.repeats is None
        and row.id not in done
        and row.choice not in (None, Choice.CANT_TELL)
    ]


def consistency(rows: Iterable[PreferenceSummary]) -> Consistency:
    """Compares each repeat with what the first answer was when the pair came again, whatever became of it since."""
    by_id = {row.id: row for row in rows}
    alike = compared = untold = 0
    for repeat in by_id.values():
        first = by_id.get(repeat.repeats or 0)
        if first is None or first.withdrawn or repeat.withdrawn:
            continue
        before, now = first.choice_at(repeat.id), _as_first_shown(repeat, first)
        if before is None or now is None:
            continue
        told = Choice.CANT_TELL not in (before, now)
        untold += not told
        compared += told
        alike += told and before == now
    return Consistency(alike, compared, untold)


def expected(error_rate: float) -> float:
    """Share answered alike by somebody who answers at random, left or right, with that chance each time (2.2.3).

    Each answer is then the meant one with chance 1 - error_rate / 2; both are, or neither.
    """
    meant = 1 - error_rate / 2
    return meant**2 + (1 - meant) ** 2


def comment(found: Consistency, error_rate: float) -> str:
    """What the figure means, in plain words."""
    assumed = expected(error_rate)
    method = f"The method assumes {error_rate:.0%} random answers, with which {assumed:.1%} would be alike"
    if not found.compared:
        return f"No pair has been answered twice yet. {method}."
    low, high = found.interval
    if high < assumed:
        return f"{method}: you disagree with yourself more often. Look longer, or choose tie or can't tell more often."
    if low > assumed:
        return f"{method}: you are surer than that."
    return f"{method}: that fits ({low:.0%} to {high:.0%} is likely from so few)."


def _as_first_shown(repeat: PreferenceSummary, first: PreferenceSummary) -> Choice | None:
    if repeat.choice is None or repeat.sides == first.sides:
        return repeat.choice
    return _SWAPPED.get(repeat.choice, repeat.choice)


class Repeats:
    """Draws the pairs of QueryConfig.repeats. `on` may be switched at any time."""

    def __init__(self, config: QueryConfig, labeller: str, rng: np.random.Generator) -> None:
        self.on = config.repeats == "on"
        self._config, self._labeller, self._rng = config, labeller, rng
        self._put_again: set[int] = set()

    def due(self) -> bool:
        """Asked once for each pair that is offered: whether one comes again beside it."""
        share = self._config.repeat_share
        return self.on and bool(self._rng.random() < share / (1 - share))

    def pick(self, rows: Iterable[PreferenceSummary]) -> int | None:
        """Number of the answer whose pair comes again; None where there is none yet. None is picked twice."""
        left = set(repeatable(rows, self._config.repeat_after, self._labeller)) - self._put_again
        if not left:
            return None
        key = sorted(left)[int(self._rng.integers(len(left)))]
        self._put_again.add(key)
        return key

    def again(self, first: Preference) -> Query:
        """The pair of that answer, left and right swapped or not by the toss of a coin."""
        left, right = first.query.left, first.query.right
        if self._rng.random() < 0.5:
            left, right = right, left
        return replace(first.query, left=left, right=right, repeats=first.id)
