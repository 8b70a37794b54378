"""The draft of a behaviour, which the page of behaviours edits."""

from __future__ import annotations

import json

from app.behaviours.draft import BehaviourDraft
from core.behaviours.behaviour import CameraView, parse

FILE = {
    "name": "crouch",
    "robot": "walker",
    "title": "Crouching",
    "instruction": "Which one is lower?",
    "clip_seconds": 1.0,
    "episode_seconds": 4,
    "control_rate": 22.5,
}


def test_editing_keeps_fields_without_controls_until_the_robot_changes() -> None:
    draft = BehaviourDraft.of(parse(json.dumps(FILE)))
    assert draft.longest_clip == 4
    draft.title = "Crouching low"
    draft.check()
    assert draft.behaviour is not None
    assert (draft.behaviour.episode_seconds, draft.behaviour.control_rate) == (4, 22.5)
    draft.set_robot("hopper")
    draft.check()
    assert draft.behaviour is not None
    assert (draft.behaviour.episode_seconds, draft.behaviour.control_rate) == (None, None)
    draft.start, draft.camera = "lying", CameraView(80, 5, 6)
    draft.set_robot("walker")
    assert (draft.episode_seconds, draft.control_rate, draft.start, draft.camera) == (4, 22.5, "standing", None)
    draft.set_robot("hopper")  # the settings chosen for each robot are remembered
    assert (draft.episode_seconds, draft.start, draft.camera) == (None, "lying", CameraView(80, 5, 6))


def test_a_measure_keeps_its_name() -> None:
    behaviour = parse(json.dumps({**FILE, "measure": {"name": "share-kneeling", "expression": "share(height < 0.8)"}}))
    draft = BehaviourDraft.of(behaviour)
    assert draft.behaviour == behaviour
    draft.measure_name = "Share kneeling"
    draft.check()
    assert draft.behaviour and draft.behaviour.measure and draft.behaviour.measure.name == "share_kneeling"


def test_a_measure_keeps_its_title_until_its_expression_changes() -> None:
    measure = {"name": "speed", "title": "Speed (m/s)", "expression": "mean(forward_speed)"}
    draft = BehaviourDraft.of(parse(json.dumps({**FILE, "measure": measure})))
    draft.instruction = "Which one is faster?"
    draft.check()
    assert draft.behaviour and draft.behaviour.measure and draft.behaviour.measure.title == "Speed (m/s)"
    draft.measure = "highest(forward_speed)"
    draft.check()
    assert draft.behaviour and draft.behaviour.measure and draft.behaviour.measure.title == "Speed"
