"""Answers that compare the policies from before and after a finish. Pure."""

from __future__ import annotations

from core.types import Choice, PolicyComparison, Query


class FinishComparison:
    """Tally of the answers that compare the policies from before and after the latest finish.

    just_completed: True if the newest answer is to the last of these pairs
    """

    def __init__(self) -> None:
        self.just_completed = False
        self._answers: dict[int, tuple[Query, Choice]] = {}
        """Counted answers by their ids."""
        self._last_offered = self._last_before = 0
        """Ids of the query that was offered last, and of the last one before the finish: only later ones can compare."""

    def offered(self, query: Query) -> None:
        """Note a query of the rollout."""
        self._last_offered = query.id

    def restart(self) -> None:
        """Start a new tally, for another finish."""
        self._answers.clear()
        self._last_before = self._last_offered

    def made_by(self, query: Query) -> PolicyComparison | None:
        """Return the comparison that this pair makes; None if it makes none or belongs to an earlier finish."""
        return query.comparison if query.id > self._last_before else None

    def add(self, answer: int, query: Query, choice: Choice) -> None:
        """Count the answer with this id if its pair compares the two policies."""
        comparison = self.made_by(query)
        self.just_completed = comparison is not None and comparison.left == 1
        if comparison is not None:
            self._answers[answer] = query, choice

    def change(self, answer: int, choice: Choice) -> None:
        """Change the choice of an answer, if it was counted."""
        if answer in self._answers:
            self._answers[answer] = self._answers[answer][0], choice

    def withdraw(self, answer: int) -> None:
        """Stop counting an answer, if it was counted."""
        self._answers.pop(answer, None)
        self.just_completed = False

    @property
    def preferred(self) -> tuple[int, int, int] | None:
        """Number of answers that prefer the earlier policy, of those that prefer the finished one, and of all that compare
        them; None until the last of these pairs is answered."""
        answers, complete = list[bool | None](), False
        for query, choice in self._answers.values():
            assert query.comparison is not None
            complete |= query.comparison.left == 1
            chosen = {Choice.LEFT: query.left, Choice.RIGHT: query.right}.get(choice)
            answers.append(None if chosen is None else chosen.env_steps < query.comparison.split)
        return (answers.count(True), answers.count(False), len(answers)) if complete else None

    @property
    def prefers_earlier(self) -> bool:
        """True if clearly more answers prefer the earlier policy: by two at least, not by chance."""
        return self.preferred is not None and self.preferred[0] >= self.preferred[1] + 2
