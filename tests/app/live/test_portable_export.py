"""The menu entry that writes ONNX files in a child process and reports the outcome in one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.keys.commands import Command
from core.events import Event, Failed
from core.service_events import PortableMade, PortableRequested
from tests.app.fakes import Face


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            PortableMade(("/x/policy.onnx", "/x/contract.json"), "Only the policy."),
            "^Saved policy.onnx and contract.json in /x. Only the policy.$",
        ),
        (
            PortableMade(("/x/policy.onnx", "/x/policy-reward.onnx", "/x/contract.json"), ""),
            "^Saved policy.onnx, policy-reward.onnx and contract.json in /x.$",
        ),
        (Failed("portable", "It has no checkpoint yet: teach for a minute first.", ""), "It has no checkpoint yet"),
        (None, "policy.onnx could not be written: its process ended unexpectedly; try again."),
    ],
)
def test_the_menu_exports_in_a_child_and_reports_the_outcome(
    face: Face, tmp_path: Path, event: Event | None, expected: str
) -> None:
    face.save(Command.EXPORT_ONNX, tmp_path / "policy.onnx")
    face.wait_until(lambda: bool(face.engine["portable"].got(PortableRequested)))
    child = face.engine["portable"]
    assert child.got(PortableRequested) == [PortableRequested(str(face.folder), str(tmp_path / "policy.onnx"))]
    child.play(event) if event else child.die()
    place = face.window.toast if isinstance(event, PortableMade) else face.window.banner.text  # success is no warning
    face.wait_until(lambda: re.search(expected, place.text()) is not None and place.isVisible())
    assert child.stopped
