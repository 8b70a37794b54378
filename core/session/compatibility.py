"""Whether a store of answers is that of its session: a file may be another task's, and yet whole."""

from __future__ import annotations

from core.config import Config
from core.errors import UserError
from core.io.segment_codec import SegmentShape
from core.preferences.store import PreferenceStore
from core.tasks import get_task
from core.tasks.base import Task

_REMEDY = "put the session's own preferences.sqlite back into its folder, or start a new session"


def require_fitting(
    store: PreferenceStore, config: Config, sizes: tuple[int, int] | None = None, remedy: str = _REMEDY
) -> None:
    """UserError where an answer in the store can't be one of a session with this config.

    Its observations and actions must be of the task's sizes, and its segments as long as that config's. It reads no
    segment, so that thousands take no time.
    sizes: as Task.sizes, from whoever has made the environment
    remedy: what the person can do about it
    """
    task, first = get_task(config.task), None
    steps = config.query.length(task.segment_steps)
    for key, form in store.forms():
        first = first or form
        if lack := _lack(form, first, task, sizes or task.sizes, steps):
            raise UserError(f"Answer {key} is none to the task {task.name} ({lack}): {remedy}.")


def _lack(form: SegmentShape, first: SegmentShape, task: Task, sizes: tuple[int, int] | None, steps: int) -> str:
    """What is wrong with a segment; '' where nothing is."""
    observed, acted = sizes or (None, first.action)
    wanted = task.pictures or first.observation if observed is None or task.pictures else (observed,)
    if form.observation != wanted:
        return f"it shows {_counted(form.observation)} a step and not {_counted(wanted)}"
    if form.action != acted:
        return f"an action has {form.action} numbers and not {acted}"
    if form.steps != steps:
        return f"a segment has {form.steps} steps and not {steps}"
    return ""


def _counted(observation: tuple[int, ...]) -> str:
    return " x ".join(map(str, observation)) + (" pixels" if len(observation) > 1 else " numbers")
