"""The moving pictures of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core import jobs
from core.events import Event, JobSpec, Waited
from core.jobs.previews import FPS, SECONDS, SIZE, PreviewsJob, preview
from core.service_events import PreviewDrawn, PreviewRefused, PreviewRequested
from tests.screens import run_python


def answers(job: PreviewsJob) -> Iterator[Event]:
    """Yields its events until it has nothing more to do."""
    for event in job.run():
        if isinstance(event, Waited):
            return
        if event is not None:
            yield event


@pytest.mark.parametrize("task", ["hopper-backflip", "pong", "gym:CartPole-v1", "gym:MountainCarContinuous-v0"])
def test_two_seconds_of_a_task_that_moves(task: str) -> None:
    frames = preview(task)
    assert frames.pixels.shape == (round(SECONDS * FPS), SIZE, SIZE, 3)
    assert frames.pixels[0].std() > 5  # something is to be seen
    assert any((frame != frames.pixels[0]).any() for frame in frames.pixels)


def test_requests_are_answered_in_order_and_a_bad_one_stops_no_other() -> None:
    job = PreviewsJob()
    for task in ("pendulum", "gym:NoSuch-v0", "juggling", "gym:CartPole-v1"):
        job.receive(PreviewRequested(task))
    drawn, missing, unknown, last = answers(job)
    assert isinstance(drawn, PreviewDrawn) and drawn.task == "pendulum"
    assert isinstance(missing, PreviewRefused) and "No environment named NoSuch-v0" in missing.sentence
    assert isinstance(unknown, PreviewRefused) and "no task 'juggling'" in unknown.sentence
    assert isinstance(last, PreviewDrawn) and last.task == "gym:CartPole-v1"


def test_it_is_built_by_its_name_and_without_torch() -> None:
    assert isinstance(jobs.build(JobSpec("previews", {})), PreviewsJob)
    script = (
        "import sys; from core import jobs; from core.events import JobSpec; jobs.build(JobSpec('previews', {}));"
        " from core.jobs.previews import preview; preview('reacher'); print('torch' in sys.modules)"
    )
    assert run_python("-c", script).stdout.strip() == "False"
