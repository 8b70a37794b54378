"""Robots from MJCF files, and rates of Gymnasium environments, read in a child process.

This process loads neither MuJoCo nor Gymnasium, and a bad file may end a process.
"""

import importlib
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from core.behaviours.robot_model import RobotModel
from core.errors import ChildDiedError, UserError, refusal
from core.system.child_process import ChildProcess, serve
from core.system.link import Link

_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.25


class _Kind(NamedTuple):
    """Kind of object that a child reads, with parts of the sentence for the user if that fails."""

    module: str
    """Module of `function`, which only the child imports."""
    function: str
    refused: str
    died: str
    slow: str


_ROBOT = _Kind(
    module="core.robots.importing",
    function="import_robot",
    refused="{} can't be used as a robot",
    died="MuJoCo failed to read it",
    slow="reading it takes more than a minute. Use a simpler model",
)
_RATE = _Kind(
    module="core.envs.gymnasium",
    function="steps_per_second",
    refused="gym:{} can't be created",
    died="its code ended the process",
    slow="it takes more than a minute",
)


def _serve(link: Link) -> None:
    def read(kind: _Kind, subject: Any) -> Any:
        try:
            return getattr(importlib.import_module(kind.module), kind.function)(subject)
        except Exception as error:  # an unusual file or third-party code may fail in unforeseen ways
            raise UserError(refusal(error, kind.refused.format(subject))) from error

    serve(link, SimpleNamespace(read=read))


def reader() -> ChildProcess:
    """Return a child process that reads on request."""
    return ChildProcess("robot-reader", _serve)


def read_robot(
    path: Path, make_child: Callable[[], ChildProcess] = reader, stopped: Callable[[], bool] = lambda: False
) -> RobotModel:
    """Return the robot of an MJCF file; blocks for seconds. Raises UserError, which names the file, if it can't be used.

    stopped: called often; reading ends, with an error, as soon as it returns True
    """
    robot: RobotModel = _read(_ROBOT, path.absolute(), make_child, stopped)
    return robot


def read_rate(
    env_id: str, make_child: Callable[[], ChildProcess] = reader, stopped: Callable[[], bool] = lambda: False
) -> float:
    """Return the steps per second of a Gymnasium environment; blocks for seconds. Raises UserError if it can't be created.

    stopped: as in `read_robot`
    """
    rate: float = _read(_RATE, env_id, make_child, stopped)
    return rate


def _read(kind: _Kind, subject: object, make_child: Callable[[], ChildProcess], stopped: Callable[[], bool]) -> Any:
    """Return the result of a child's reading. Raises UserError, which names the subject, on failure or once `stopped` returns True."""
    child, refused = make_child(), kind.refused.format(subject)
    end = time.monotonic() + _PATIENCE_SECONDS
    try:
        child.start()
        child.request("read", kind, subject)
        while time.monotonic() < end:
            if stopped():
                raise UserError(f"{subject} was not read, because the program was closed.")
            if child.answered("read", _POLL_SECONDS):
                return child.answer("read")
    except ChildDiedError as error:
        raise UserError(f"{refused}: {kind.died}.") from error
    except Exception as error:  # such as a lack of memory
        raise UserError(refusal(error, refused)) from error
    finally:
        child.close()
    raise UserError(f"{refused}: {kind.slow}.")
