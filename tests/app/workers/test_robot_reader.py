"""Robots read in a child process."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.workers.robot_reader import read_robot
from core.errors import UserError
from core.events import Event, Failed, JobSpec
from core.service_events import RobotFileRequested
from tests.app.fakes import FakeProcess
from tests.core.jobs.test_scenes import SWINGER


class Failing(FakeProcess):
    """Answers with a failure, or dies."""

    failure: Event | None = None

    def send(self, event: Event) -> None:
        super().send(event)
        assert isinstance(event, RobotFileRequested)
        self.play(self.failure) if self.failure else self.die()


def test_a_real_child_reads_a_file_and_says_why_another_is_none(tmp_path: Path) -> None:
    good, bad = tmp_path / "swinger.xml", tmp_path / "stone.xml"
    good.write_text(SWINGER)
    assert read_robot(good).joints == ("swing",)
    bad.write_text("<mujoco/>")
    with pytest.raises(UserError, match=r"stone.xml can't be used as a robot: .*joints"):
        read_robot(bad)


def test_a_program_that_is_closed_waits_for_no_file(tmp_path: Path) -> None:
    process, asked = FakeProcess(JobSpec("scenes", {})), list[int]()  # it never answers

    def stopped() -> bool:
        asked.append(1)
        return len(asked) > 2

    with pytest.raises(UserError, match="x.xml was not read"):
        read_robot(tmp_path / "x.xml", lambda _: process, stopped)
    assert process.stopped


def test_a_child_that_fails_or_dies_is_one_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    for failure, fault in (
        (Failed("scenes", "out of memory", ""), "out of memory"),
        (None, "MuJoCo failed to read it"),
    ):
        process = Failing(JobSpec("scenes", {}))
        process.failure = failure
        with pytest.raises(UserError, match=f"x.xml can't be used as a robot: {fault}"):
            read_robot(tmp_path / "x.xml", lambda _, process=process: process)  # type: ignore[misc]
        assert process.stopped
