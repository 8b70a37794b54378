"""Robots read in a child process."""

from __future__ import annotations

import multiprocessing
import os
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from app.workers.robot_reader import read_rate, read_robot
from core.errors import UserError
from core.system.child_process import ChildProcess
from core.system.link import Link
from tests.core.robot_toys import SWINGER


def dying(link: Link) -> NoReturn:
    os._exit(3)


def failing(link: Link) -> NoReturn:
    raise MemoryError("out of memory")


def test_a_real_child_reads_a_robot_and_explains_why_another_file_is_none(tmp_path: Path) -> None:
    good, bad = tmp_path / "swinger.xml", tmp_path / "stone.xml"
    good.write_text(SWINGER)
    assert read_robot(good).joints == ("swing",)
    for text, fault in (("<mujoco/>", ".*joints"), ("", "stone.xml is not XML")):
        bad.write_text(text)
        with pytest.raises(UserError, match=f"stone.xml can't be used as a robot: {fault}"):
            read_robot(bad)
    assert not multiprocessing.active_children()


def test_closing_the_program_does_not_wait_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="x.xml was not read"):
        read_robot(tmp_path / "x.xml", stopped=lambda: True)
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_real_child_reports_the_rate_of_an_environment() -> None:
    assert read_rate("Hopper-v5") == 125
    for name, fault in (("Nowhere-v0", "No environment named Nowhere-v0"), ("Pendulum", "gym:Pendulum has no version")):
        with pytest.raises(UserError, match=fault):
            read_rate(name)
    with pytest.raises(UserError, match=r"gym:Odd-v0 can't be created: its code ended the process\.$"):
        read_rate("Odd-v0", partial(ChildProcess, "robot-reader", dying))
    assert not multiprocessing.active_children()


def test_a_child_that_fails_or_dies_is_one_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    for target, fault in ((failing, "MemoryError: out of memory"), (dying, "MuJoCo failed to read it")):
        with pytest.raises(UserError, match=f"x.xml can't be used as a robot: {fault}"):
            read_robot(tmp_path / "x.xml", partial(ChildProcess, "robot-reader", target))
    assert not multiprocessing.active_children()
