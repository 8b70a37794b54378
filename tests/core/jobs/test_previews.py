"""The moving previews of the catalogue."""

from __future__ import annotations

import pytest

from core import jobs
from core.events import JobSpec
from core.jobs.previews import SECONDS, SIZE, PreviewsJob, preview
from core.service_events import PREVIEW_FPS, PreviewDrawn, PreviewRefused, PreviewRequested
from tests.core.played import answers
from tests.screens import run_python


@pytest.mark.slow
@pytest.mark.parametrize("task", ["hopper-backflip", "pong", "gym:CartPole-v1", "gym:MountainCarContinuous-v0"])
def test_a_preview_is_two_seconds_of_a_moving_task(task: str) -> None:
    frames = preview(task)
    assert frames.pixels.shape == (round(SECONDS * PREVIEW_FPS), SIZE, SIZE, 3)
    assert frames.pixels[0].std() > 5  # the picture is not uniform
    assert any((frame != frames.pixels[0]).any() for frame in frames.pixels)


def test_requests_are_answered_in_order_and_a_bad_one_stops_no_other() -> None:
    tasks = ("pendulum", "gym:NoSuch-v0", "juggling", "gym:CartPole-v1")
    drawn, missing, unknown, last = answers(PreviewsJob(), *map(PreviewRequested, tasks))
    assert isinstance(drawn, PreviewDrawn) and drawn.task == "pendulum"
    assert isinstance(missing, PreviewRefused) and "No environment named NoSuch-v0" in missing.sentence
    assert isinstance(unknown, PreviewRefused) and "no task 'juggling'" in unknown.sentence
    assert isinstance(last, PreviewDrawn) and last.task == "gym:CartPole-v1"


def test_the_previews_job_is_built_by_name_without_torch() -> None:
    assert isinstance(jobs.build(JobSpec("previews", {})), PreviewsJob)
    script = (
        "import sys; from core import jobs; from core.events import JobSpec; jobs.build(JobSpec('previews', {}));"
        " from core.jobs.previews import preview; preview('reacher'); print('torch' in sys.modules)"
    )
    assert run_python("-c", script).stdout.strip() == "False"
