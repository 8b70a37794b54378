"""Review of given answers: those that the predictors contradict, and how consistently a human answers.

A human may be shown some pairs a second time (QueryConfig.repeats), left and right swapped at random. Such a repeat is
stored with a reference to the first answer. It is not trained on and does not count as a label, as the pair would have
double weight. It serves to measure the error rate: the method assumes that one answer in ten is given at random (2.2.3),
and people do not know their own rate.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from core.config import QueryConfig
from core.formatting import pluralize
from core.preferences.store import PreferenceSummary
from core.types import Choice, Preference, Query

DOUBTED = 0.5
"""Contradiction above which an answer counts as doubted."""
_SWAPPED = {Choice.LEFT: Choice.RIGHT, Choice.RIGHT: Choice.LEFT}
_Z = 1.96
"""Normal quantile of the 95% interval."""


def contradiction(choice: Choice, left: float) -> float:
    """Return the degree, 0 to 1, to which a prediction, left = P[left is preferred], contradicts an answer.

    For a side, this is the probability of the other side. For a tie, it is the distance of the prediction from .5,
    relative to the largest possible one: a tie is doubted if P is below .25 or above .75. For "can't tell", it is 0.
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
    """Return the doubted answers with their contradictions, the largest first.

    left: P[left is preferred] by the answer's number; answers without a prediction, not trained on, are never doubted
    """
    rated = [(row, contradiction(row.choice, left[row.id])) for row in rows if row.id in left and not row.withdrawn]
    return sorted((pair for pair in rated if pair[1] > DOUBTED), key=lambda pair: (-pair[1], pair[0].id))


@dataclass(frozen=True)
class Consistency:
    """Counts of repeated pairs, and of those answered alike both times. Pairs with a withdrawn answer are left out."""

    alike: int
    """Pairs with the same side preferred both times, after undoing a swap, or with two ties."""
    compared: int
    """Pairs for which neither answer is "can't tell", which contradicts nothing."""
    undecided: int
    """Pairs left out because one of the two answers is "can't tell"."""

    @property
    def share(self) -> float:
        """Share of the compared pairs that are alike; NaN without any."""
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
    """Return the numbers of this labeller's answers that may be repeated: those followed by at least `after` answers.

    Withdrawn and "can't tell" answers, repeats, and answers that were repeated already are left out.
    """
    standing = [row for row in rows if not row.withdrawn]
    repeated = {row.repeats for row in standing}
    return [
        row.id
        for row in standing[: max(0, len(standing) - after)]
        if row.labeller == labeller and row.repeats is None and row.id not in repeated and row.choice.usable
    ]


def consistency(rows: Iterable[PreferenceSummary]) -> Consistency:
    """Compare each repeat with the first answer as it was when the pair was repeated; later changes do not count.

    Repeats that another labeller has answered are left out.
    """
    by_id = {row.id: row for row in rows}
    alike = compared = undecided = 0
    for repeat in by_id.values():
        first = by_id.get(repeat.repeats or 0)
        if first is None or first.withdrawn or repeat.withdrawn or first.labeller != repeat.labeller:
            continue
        before = next((choice for choice, newest in first.changes if newest >= repeat.id), first.choice)
        now = repeat.choice
        if repeat.swapped:
            now = _SWAPPED.get(now, now)
        if Choice.CANT_TELL in (before, now):
            undecided += 1
        else:
            compared += 1
            alike += before == now
    return Consistency(alike, compared, undecided)


def expected_share(error_rate: float) -> float:
    """Return the expected share of equal answers of a human who answers at random with this probability (2.2.3).

    Each answer is then the intended one with probability 1 - error_rate / 2. Two are equal if both are, or neither is.
    """
    intended = 1 - error_rate / 2
    return intended**2 + (1 - intended) ** 2


def comment(found: Consistency, error_rate: float) -> str:
    """Return a sentence for the user that interprets the consistency."""
    assumed = expected_share(error_rate)
    method = (
        f"If {error_rate:.0%} of the answers were given at random, as this session assumes, {assumed:.0%} of the repeated"
        " ones would be the same"
    )
    if not found.compared:
        none = "No repeated pair can be compared yet" if found.undecided else "No pair has been shown twice yet"
        return f"{none}. {method}."
    low, high = found.interval
    if high < assumed:
        return f"{method}: yours agree less often. Look longer, or choose a tie or can't tell more often."
    if low > assumed:
        return f"{method}: yours agree more often."
    return f"{method}: this fits your answers ({low:.0%} to {high:.0%} is likely from {pluralize(found.compared, 'pair')})."


class Repeats:
    """Chooses which pairs are repeated, by QueryConfig.repeats. `on` may be changed at any time."""

    def __init__(self, config: QueryConfig, labeller: str, rng: np.random.Generator) -> None:
        self.on = config.repeats == "on"
        self._config, self._labeller, self._rng = config, labeller, rng
        self._picked: set[int] = set()

    def due(self) -> bool:
        """Return whether to repeat a pair now. Call it once for each new pair that is offered."""
        share = self._config.repeat_share
        return self.on and bool(self._rng.random() < share / (1 - share))

    def pick(self, rows: Iterable[PreferenceSummary]) -> int | None:
        """Return the number of the answer to repeat, drawn at random and never twice; None if there is none yet."""
        candidates = set(repeatable(rows, self._config.repeat_after, self._labeller)) - self._picked
        if not candidates:
            return None
        key = sorted(candidates)[int(self._rng.integers(len(candidates)))]
        self._picked.add(key)
        return key

    def repeated_query(self, first: Preference) -> Query:
        """Return a query that repeats an answer's pair, with left and right swapped at random."""
        left, right = first.query.left, first.query.right
        if self._rng.random() < 0.5:
            left, right = right, left
        return replace(first.query, left=left, right=right, repeats=first.id)
