"""Robots from MJCF files, read in a child process, as this one loads no MuJoCo, and as a bad file may end a process."""

import importlib
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from core.behaviours.robot_model import RobotModel
from core.errors import UserError, refusal
from core.system.child_process import ChildDiedError, ChildProcess, serve
from core.system.link import Link

_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.25


def _serve(link: Link) -> None:
    importing = importlib.import_module("core.robots.importing")  # by name: only the child imports MuJoCo

    def read(path: Path) -> Any:
        try:
            return importing.import_robot(path)
        except Exception as error:  # an odd file may fail in unforeseen ways
            raise UserError(refusal(error, f"{path} can't be used as a robot")) from error

    serve(link, SimpleNamespace(read=read))


def reader() -> ChildProcess:
    """Return a child process that reads files on request."""
    return ChildProcess("robot-reader", _serve)


def read_robot(
    path: Path, make_child: Callable[[], ChildProcess] = reader, stopped: Callable[[], bool] = lambda: False
) -> RobotModel:
    """Return the robot of an MJCF file; blocks for seconds. Raises UserError, which names the file, if it can't be used.

    stopped: called often; reading ends, with an error, as soon as it returns True
    """
    child = make_child()
    end = time.monotonic() + _PATIENCE_SECONDS
    try:
        child.start()
        child.request("read", path.absolute())
        while time.monotonic() < end:
            if stopped():
                raise UserError(f"{path} was not read, because the program was closed.")
            if child.answered("read", _POLL_SECONDS):
                robot: RobotModel = child.answer("read")
                return robot
    except ChildDiedError as error:
        raise UserError(f"{path} can't be used as a robot: MuJoCo failed to read it.") from error
    except Exception as error:  # such as a lack of memory
        raise UserError(refusal(error, f"{path} can't be used as a robot")) from error
    finally:
        child.close()
    raise UserError(f"{path} can't be used as a robot: reading it takes more than a minute. Use a simpler model.")
