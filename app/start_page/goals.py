"""Goals of the tasks for the start page, one sentence each, and the answers and minutes that teaching takes."""

from core.formatting import capitalized
from core.tasks import get_task
from core.tasks.base import Task

_GOALS = {
    "hopper-backflip": "A one-legged robot jumps and turns over backward.",
    "half-cheetah-one-leg": "A running robot moves forward on its hind leg only.",
    "reacher": "An arm brings its tip to the red dot and keeps it there.",
    "pendulum": "A cart balances a pole.",
    "double-pendulum": "A cart balances two poles, one on top of the other.",
    "swimmer": "A snake of three links swims forward.",
    "half-cheetah": "A two-legged robot runs forward fast.",
    "hopper": "A one-legged robot hops forward.",
    "walker": "A two-legged robot walks forward upright.",
    "ant": "A four-legged robot walks forward.",
    "ant-spin": "A four-legged robot turns on the spot.",
    "ant-two-legs": "A four-legged robot stands on two legs.",
    "double-pendulum-windmill": "The lower of two poles swings round like a windmill.",
    "half-cheetah-backflip": "A running robot turns over backward in the air.",
    "half-cheetah-upright": "A running robot stands upright on its hind leg.",
    "hopper-frontflip": "A one-legged robot jumps and turns over forward.",
    "hopper-stand-up": "A one-legged robot gets up from any pose.",
    "pendulum-aside": "A cart balances a pole on the right half of its rail.",
    "reacher-wave": "An arm turns steadily with a bent elbow.",
    "swimmer-whirl": "A snake of three links whirls on the spot.",
    "walker-backward": "A two-legged robot walks backward upright.",
    "walker-kneel": "A two-legged robot kneels and keeps still.",
    "beam-rider": "A ship shoots enemies without being hit.",
    "breakout": "A paddle keeps the ball in play and breaks the bricks.",
    "enduro": "A racing car overtakes the others.",
    "pong": "The green paddle gets the ball past the other paddle.",
    "qbert": "A hopping creature changes the colour of all blocks.",
    "seaquest": "A submarine shoots enemies and saves divers.",
    "space-invaders": "A ship shoots invaders without being hit.",
    "enduro-even": "A racing car stays level with the others.",
}
_ASKS = "Choose the clip in which "


def goal(task: Task) -> str:
    """Return the goal of a task as a sentence; for the person's own behaviour, it is taken from the instruction."""
    known = _GOALS.get(task.name)
    if known and get_task(task.name).instruction == task.instruction:  # and no behaviour of the same name
        return known
    asked = task.instruction.removeprefix(_ASKS).partition(". ")[0].rstrip(".")
    return f"{capitalized(asked)}." if asked else ""


def effort(task: Task) -> str:
    """Return the usual number of answers and the time they take a person, with two cores (RESULTS.md)."""
    if task.pictures is not None:
        return f"{task.presets['labels']:,} answers, several hours"
    return "50 to 300 answers, 5 to 30 min"
