"""Why there is no pair on screen, and when one is expected: in words. Pure."""

from __future__ import annotations

from app.controller import Controller, State

_DRAWING = ("Drawing the next pair", "A second or two.")


def explanation(controller: Controller) -> tuple[str, str]:
    """A headline and a second line for the place where the clips would be."""
    match controller.state:
        case State.STARTING | State.RESTARTING:
            return (
                "Getting ready",
                "The simulation, the reward and the policy start in processes of their own: a few seconds.",
            )
        case State.STOPPING:
            return "Saving", "The last checkpoint is being written."
        case State.STOPPED:
            return "Stopped", "Everything is saved. Press Start to go on from here."
        case State.FAILED:
            return "A stage has stopped", "See the message above: it can be started again."
    return _while_running(controller)


def _while_running(controller: Controller) -> tuple[str, str]:
    pairs, progress = controller.labelling.pairs, controller.progress
    if pairs.waits_for_taken_back:
        return "Bringing the pair back", "Its clips are being drawn again."
    if pairs.drawing:
        return _DRAWING
    if controller.state == State.PAUSED:
        return "Paused", "Press Resume, and rollout goes on collecting segments to compare."
    reason = controller.waits.get("rollout", "")
    if progress.target and progress.labels >= progress.target:
        detail = _sentence(reason) if reason else "The policy goes on practising what you taught it."
        return f"All {progress.target} answers are given", detail
    headline = _sentence(reason or "rollout is collecting segments").rstrip(".")
    return headline, _expected(progress.seconds_to_next_offer, progress.env_steps)


def _sentence(reason: str) -> str:
    return reason[0].upper() + reason[1:] + "."


def _expected(seconds: float | None, env_steps: int) -> str:
    if seconds is not None:
        return f"At the recent pace the next pair comes in about {seconds:.0f} s."
    return "The first pair usually comes within ten seconds." if env_steps == 0 else "The next pair comes soon."
