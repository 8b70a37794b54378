"""Robots from MJCF files, read in a child process, as this one loads no MuJoCo, and as a bad file may end a process."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from app.workers.job_worker import MakeProcess
from core.behaviours.robot_model import RobotModel, robot_model
from core.config import Config
from core.errors import UserError
from core.events import Failed, JobSpec, Logged
from core.service_events import RobotFileRead, RobotFileRefused, RobotFileRequested
from core.system.child_process import ChildDiedError, JobProcess, log_from_child

_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.25


def read_robot(
    path: Path, make_process: MakeProcess = JobProcess, stopped: Callable[[], bool] = lambda: False
) -> RobotModel:
    """Return the robot of an MJCF file; blocks for seconds. Raises UserError, which names the file, if it can't be used.

    stopped: called often; reading ends, with an error, as soon as it returns True
    """
    process = make_process(JobSpec("scenes", Config().to_dict()))
    end = time.monotonic() + _PATIENCE_SECONDS
    try:
        process.start()
        process.send(RobotFileRequested(str(path.absolute())))
        while time.monotonic() < end:
            if stopped():
                raise UserError(f"{path} was not read, because the program was closed.")
            message = process.receive(_POLL_SECONDS)
            if message is None:
                continue
            with contextlib.closing(message):
                event = message.decode()
            match event:
                case RobotFileRead(model):
                    return robot_model(model)
                case RobotFileRefused(sentence):
                    raise UserError(sentence)
                case Failed(summary=reason):
                    raise UserError(f"{path} can't be used as a robot: {reason.rstrip('.')}.")
                case Logged():
                    log_from_child(event)
    except ChildDiedError as error:
        raise UserError(f"{path} can't be used as a robot: MuJoCo failed to read it.") from error
    finally:
        process.stop()
    raise UserError(f"{path} can't be used as a robot: reading it takes more than a minute. Use a simpler model.")
