"""The synthetic labeller: judges by the true reward alone (paper 3.1)."""

from __future__ import annotations

from core.errors import UserError
from core.records import Choice, Query


def answer(query: Query) -> Choice:
    """The segment with the larger sum of true reward; a tie where the sums are equal. Deterministic."""
    left, right = query.left.true_rewards, query.right.true_rewards
    if left is None or right is None:
        raise UserError("This task has no true reward for an oracle to judge by: choose the human teacher.")
    difference = float(left.sum(dtype="float64") - right.sum(dtype="float64"))
    if difference == 0:
        return Choice.TIE
    return Choice.LEFT if difference > 0 else Choice.RIGHT
