"""Scenes of the robot on the page of behaviours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core import jobs
from core.events import JobSpec
from core.jobs.scenes import FPS, ScenesJob
from core.robots.importing import import_robot
from core.service_events import (
    PracticePairDrawn,
    PracticeRequested,
    SceneDrawn,
    SceneRefused,
    SceneRequested,
)
from core.tasks import get_task
from tests.core.builders import BEHAVIOUR
from tests.core.played import answers
from tests.core.robot_toys import SWINGER

SIZE = 400


def text(**changes: Any) -> str:
    return json.dumps({**BEHAVIOUR, "clip_seconds": 0.4, **changes})


def test_clips_and_stills_are_drawn_from_the_requested_side() -> None:
    job = jobs.build(JobSpec("scenes", {}))
    assert isinstance(job, ScenesJob)
    (whole,) = answers(job, SceneRequested(1, text(), SIZE))
    assert isinstance(whole, SceneDrawn) and whole.token == 1
    assert whole.frames.pixels.shape == (round(0.4 * FPS), SIZE, SIZE, 3)
    assert {"y", "side_speed", "roll_rate"} < whole.constant and not {"height", "pitch"} & whole.constant
    camera = {"azimuth": 0, "elevation": 40, "distance": 4}
    (turned,) = answers(job, SceneRequested(2, text(camera=camera, oracle="what is being typed"), SIZE, 3))
    assert isinstance(turned, SceneDrawn) and turned.frames.pixels.shape == (1, SIZE, SIZE, 3)
    assert (turned.frames.pixels[0] != whole.frames.pixels[3]).mean() > 0.05
    (large,) = answers(job, SceneRequested(2, text(), 720, 3))
    assert isinstance(large, SceneDrawn) and large.frames.pixels.shape == (1, 720, 720, 3)
    (lying,) = answers(job, SceneRequested(3, text(start="lying", robot="ant"), SIZE))
    assert isinstance(lying, SceneDrawn) and len(lying.frames.pixels) == 3 * len(whole.frames.pixels)


def test_only_the_newest_request_is_drawn_and_a_wrong_one_is_refused() -> None:
    requests = [
        SceneRequested(1, text(), SIZE),
        SceneRequested(2, text(clip_seconds=10), SIZE),
        SceneRequested(3, text(), SIZE, 1),
    ]
    (drawn,) = answers(ScenesJob(), *requests)
    assert isinstance(drawn, SceneDrawn) and drawn.token == 3
    for wrong, expected in (
        (text(robot="wlker"), "did you mean walker?"),
        (text(robot="gym:CartPole-v1"), "gym:CartPole-v1 has a camera of its own"),
    ):
        (refused,) = answers(ScenesJob(), SceneRequested(4, wrong, SIZE))
        assert isinstance(refused, SceneRefused) and expected in refused.sentence


def test_a_robot_from_a_file_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "swinger.xml"
    file.write_text(SWINGER)
    model = json.loads(json.dumps(import_robot(file).to_dict()))
    (drawn,) = answers(ScenesJob(), SceneRequested(1, text(robot="mjcf:swinger.xml", model=model), SIZE))
    assert isinstance(drawn, SceneDrawn) and drawn.frames.pixels.std() > 5


def test_practice_pairs_show_robots_in_motion_and_fit_a_session() -> None:
    pairs = answers(ScenesJob(), PracticeRequested(4, text(robot="hopper"), 2, SIZE))
    assert [type(pair) for pair in pairs] == [PracticePairDrawn] * 2
    segments = []
    for pair in pairs:
        assert isinstance(pair, PracticePairDrawn) and pair.token == 4
        assert pair.left.pixels.shape == pair.right.pixels.shape == (12, SIZE, SIZE, 3)
        segments += [pair.query.left, pair.query.right]
    task: Any = get_task(text(robot="hopper"))
    assert {segment.length for segment in segments} == {task.segment_steps}
    assert {segment.observations.shape[1:] for segment in segments} == {task.sizes[:1]}
    assert len({segment.states.tobytes() for segment in segments}) == 4 and segments[0].true_rewards is None
    (refused,) = answers(ScenesJob(), PracticeRequested(5, text(robot="gym:Pendulum-v1"), 2, SIZE))
    assert isinstance(refused, SceneRefused) and "no practice pairs" in refused.sentence
