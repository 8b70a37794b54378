"""Why there is no pair on screen, and when one is expected: in words. Pure."""

from __future__ import annotations

import math

from app.session.controller import Controller, State

_STARTS = "The simulation, the reward and the policy start in processes of their own."

_EXPLORES = "So there will be more to choose between than an untrained robot shows."


def explanation(controller: Controller) -> tuple[str, str]:
    """A headline, with a count-down where one can be told, and a second line for the place where clips would be."""
    match controller.state:
        case State.STARTING:
            return _counted("Getting ready", controller.progress.first_pair.left), _STARTS
        case State.RESTARTING:
            return "Getting ready", _STARTS
        case State.STOPPING:
            return "Saving", _being_written(controller)
        case State.STOPPED:
            return "Stopped", "Everything is saved. Press Start to go on from here."
        case State.FAILED:
            return "A stage has stopped", "See the message above: it can be started again."
    return _while_running(controller)


def _being_written(controller: Controller) -> str:
    if not controller.checkpointer.runs_file_tasks:
        return "The last checkpoint is being written."
    late = " If that takes longer than two seconds, the file is given up." if controller.file_tasks.deadline_set else ""
    return f"The last checkpoint and the file that you asked for are being written.{late}"


def _while_running(controller: Controller) -> tuple[str, str]:
    pairs, progress = controller.labelling.pairs, controller.progress
    if pairs.waits_for_undone:
        behind = (pairs.rendering - 1) * (progress.drawing.expected or 0.0)
        return _counted("Bringing the pair back", _sum(progress.drawing.left, behind)), "Its clips are drawn again."
    if pairs.rendering:
        seconds = progress.first_pair.left if progress.drawing.left is None else progress.drawing.left
        return _counted("Drawing the next pair", seconds), "It comes as soon as both clips are drawn."
    if controller.state == State.PAUSED:
        return "Paused", "Press Resume, and rollout goes on collecting segments to compare."
    reason = controller.waits.get("rollout", "")
    if progress.target and progress.labels >= progress.target:
        detail = f"{_capital(reason)}." if reason else "The policy goes on practising what you taught it."
        return f"All planned answers are given: {progress.target}", detail
    return _while_collecting(controller, reason)


def _while_collecting(controller: Controller, reason: str) -> tuple[str, str]:
    """Rollout owes a pair: reason says what it waits for itself, '' if it is at work."""
    progress = controller.progress
    if progress.explores:
        return _counted("It tries out whatever is new to it", progress.seconds_of_exploring), _EXPLORES
    if progress.first_pair.under_way:
        headline = _capital(reason) or "Rollout is collecting the first segments"
        return _counted(headline, progress.first_pair.left), "Then their clips are drawn, and you choose."
    headline, seconds = _capital(reason) or "Rollout is collecting segments", progress.seconds_to_next_offer
    detail = "The next pair comes soon." if seconds is None else "That is the recent pace."
    return _counted(headline, seconds), detail


def _counted(words: str, seconds: float | None) -> str:
    """With the seconds that are left, as far as that is known."""
    if seconds is None:
        return words
    return f"{words}: {math.ceil(seconds)} s" if seconds > 0 else f"{words}: longer than usual"


def _sum(seconds: float | None, more: float) -> float | None:
    return None if seconds is None else seconds + more


def _capital(reason: str) -> str:
    return (reason[:1].upper() + reason[1:]).rstrip(".")
