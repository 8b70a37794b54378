"""Check that stored answers are undamaged and fit the task of their session, as a store may belong to another one."""

from core.config import Config
from core.errors import UserError
from core.io.segment_codec import require_unpackable
from core.preferences.store import FOLDER, PreferenceStore
from core.tasks import get_task

_REMEDY = f"put the session's own folder {FOLDER} back, or start a new session"


def require_fitting(
    store: PreferenceStore, config: Config, sizes: tuple[int, int] | None = None, remedy: str = _REMEDY
) -> None:
    """Raise UserError if a segment in the store does not have the sizes or the length that the config requires.

    Reads no segment, so thousands of answers take little time.

    sizes: widths of observation and action, from an environment; by default Task.sizes
    remedy: advice for the user, the end of the error message
    """
    task, first = get_task(config.task), None
    steps, sizes = config.query.length(task.segment_steps), sizes or task.sizes
    for key, shape in ((row.id, shape) for row in store.rows() for shape in row.shapes):
        first = first or shape
        observation, action = (sizes[:1], sizes[1]) if sizes else (first.observation, first.action)
        observation = task.pictures or observation
        if shape.observation != observation:
            lack = f"{_size(shape.observation)} a step, not {_size(observation)}"
        elif shape.action != action:
            lack = f"an action has {shape.action} numbers, not {action}"
        elif shape.steps != steps:
            lack = f"a segment has {shape.steps} steps, not {steps}"
        else:
            continue
        raise UserError(f"Answer {key} does not fit {task.name} ({lack}): {remedy}.")


def require_whole(store: PreferenceStore, config: Config, remedy: str) -> None:
    """Raise UserError if an answer, or a compressed array in it, is damaged, or does not fit. remedy: advice for the user"""
    require_fitting(store, config, remedy=remedy)
    for row in store.rows():
        query = store.answer(row.id).query
        try:
            require_unpackable(query.left)
            require_unpackable(query.right)
        except ValueError as error:
            raise UserError(f"Answer {row.id} is damaged ({error}): {remedy}.") from error


def _size(observation: tuple[int, ...]) -> str:
    return " x ".join(map(str, observation)) + (" pixels" if len(observation) > 1 else " numbers")
