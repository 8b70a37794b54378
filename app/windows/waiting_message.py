"""Headline and detail for the time without a pair: the reason, and when the next pair is expected."""

import math

from app.session.controller import LOST_TRAINING, Controller, State
from core.formatting import capitalized

_STARTS = "Starting the simulation, reward model and policy."


def explanation(controller: Controller) -> tuple[str, str]:
    """Headline, with a countdown if the time is known, and detail."""
    match controller.state:
        case State.STARTING:
            return _with_countdown("Getting ready", controller.progress.first_pair.left), _STARTS
        case State.RESTARTING:
            return "Getting ready", _STARTS
        case State.STOPPING:
            return "Saving", _what_is_written(controller)
        case State.STOPPED:
            return "Stopped", f"{what_is_saved(controller)} Press Start to continue."
        case State.FAILED:
            return "Training has stopped", "The message above says why; its button starts training again."
    return _while_running(controller)


def what_is_saved(controller: Controller) -> str:
    """Return a sentence about a stopped session."""
    return LOST_TRAINING if controller.lost_training else controller.checkpointer.trouble or "Everything was saved."


def _while_running(controller: Controller) -> tuple[str, str]:
    pairs, progress = controller.labelling.pairs, controller.progress
    if pairs.waits_for_undone:
        return "Restoring the pair", "Rendering its clips again."
    if pairs.rendering:
        seconds = progress.first_pair.left if progress.drawing.left is None else progress.drawing.left
        return _with_countdown("Rendering the next pair", seconds), "It appears as soon as both clips are ready."
    if controller.state == State.PAUSED:
        return "Paused", "Press Resume to continue training."
    reason = capitalized(controller.waits.get("rollout", "")).rstrip(".")
    if progress.first_pair.under_way and not progress.env_steps:
        headline = reason or "Recording the first clips"
        return _with_countdown(
            headline, progress.first_pair.left
        ), "The first clips appear here when they are rendered."
    if progress.first_pair.under_way and not progress.course.advancing and not reason:
        return _with_countdown("Getting ready", progress.first_pair.left), _STARTS  # the jobs of a resumed session
    seconds = progress.seconds_to_next_offer
    detail = "The next pair will appear soon." if seconds is None else "Estimated from the recent pace."
    return _with_countdown(reason or "Recording new clips", seconds), detail


def _what_is_written(controller: Controller) -> str:
    if not controller.file_tasks.running:
        return "Writing the last checkpoint."
    late = " The file is not saved if it takes longer than two seconds." if controller.file_tasks.deadline_set else ""
    return f"Writing the last checkpoint and the file you asked for.{late}"


def _with_countdown(text: str, seconds: float | None) -> str:
    if seconds is None:
        return text
    return f"{text}: {math.ceil(seconds)} s left" if seconds > 0 else f"{text}: taking longer than usual"
