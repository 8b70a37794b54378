"""The catalogue: one entry a task."""

from __future__ import annotations

from core.errors import UserError
from core.tasks.base import Task
from core.tasks.hopper_backflip import HOPPER_BACKFLIP

CATALOGUE: dict[str, Task] = {task.name: task for task in (HOPPER_BACKFLIP,)}


def find(name: str) -> Task:
    """The task of that name; UserError listing those there are."""
    try:
        return CATALOGUE[name]
    except KeyError:
        raise UserError(f"There is no task {name!r}; choose one of {', '.join(CATALOGUE)}.") from None
