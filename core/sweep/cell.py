"""A cell of a sweep: one session without a window, as a pure function from its config to its result."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from core.config import Config, OracleConfig, PersonConfig, QueryConfig, RewardConfig
from core.errors import ChildDiedError, Lack, StageFailedError, UserError, lack, summary
from core.events import Event, RolloutReported
from core.formatting import capitalized, without_nan
from core.headless.run import HeadlessRun
from core.io.session_log import session_log
from core.rollout.episodes import mean_return, random_returns
from core.session.session import CONFIG, Session, remove_session
from core.sweep.environment import versions
from core.sweep.results import read_curve
from core.types import Teacher

log = logging.getLogger(__name__)
Document = dict[str, Any]
"""Content of a cell's file: config, versions, and either state "done" and result, or state "failed", reason and traceback."""
_CURVE = "curve.jsonl"


class CellState(StrEnum):
    """State of a cell in a sweep."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Cell:
    """A run of a plan. Cells with the same config are one run, which is part of several curves."""

    task: str
    """Name of the task, as in tables."""
    curve: str
    seed: int
    preset: str
    config: Config

    @cached_property
    def digest(self) -> str:
        """Name of the cell's file: 16 hexadecimal digits of a digest of the config."""
        text = json.dumps(self.config.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        return f"{self.task} ({self.preset}), {self.curve}, seed {self.seed}"


def reduced(config: Config) -> Config:
    """Return the config with settings that have no effect reset: another teacher's, and on the true reward those of answers."""
    if config.teacher == Teacher.ORACLE:
        return replace(config, person=PersonConfig())
    if config.teacher != Teacher.NONE:
        return replace(config, oracle=OracleConfig())
    query = QueryConfig(
        schedule=config.query.schedule, horizon=config.query.horizon
    )  # these two determine how training ends
    unused: dict[str, Any] = {"reward": RewardConfig(), "oracle": OracleConfig(), "person": PersonConfig()}
    unused["rollout"] = replace(config.rollout, varied_starts=0.0)
    return replace(config, labels=Config().labels, query=query, **unused)


def compute(config: Config, folder: Path, threads: int, report: Callable[[int], None]) -> bytes:
    """Compute a cell and return its document as JSON. An error becomes part of the document.

    Raises ChildDiedError if a process of the session was killed: the cell can be tried again.

    folder: folder of its session; a stopped session in it is continued
    threads: number of threads that may compute at the same time; the result does not depend on it
    report: called with the environment steps taken so far
    """
    document: Document = {"state": "done", "config": config.to_dict()}
    made_with = versions()
    try:
        document["result"] = _result(config, folder, threads, report)
    except Exception as error:  # the boundary of the cell: the others continue
        if isinstance(error.__cause__, ChildDiedError):
            raise error.__cause__ from None
        document = failed(config, reason_of(error), traceback.format_exc())
    return encode({**document, "made_with": made_with})


def failed(config: Config, reason: str, trace: str = "") -> Document:
    return {"state": "failed", "config": config.to_dict(), "reason": reason, "traceback": trace}


def encode(document: Document) -> bytes:
    """Return the document as JSON, with null in place of NaN and infinity."""
    return json.dumps(without_nan(document), sort_keys=True, allow_nan=False).encode()


def reason_of(error: BaseException) -> str:
    """Return one sentence for the user with the reason why a cell failed."""
    causes = (error, error.__cause__) if error.__cause__ else (error,)
    for cause in causes:
        short = lack(cause)
        if short in (Lack.MEMORY, Lack.GPU_MEMORY):
            return f"There was not enough {short}: run fewer cells at once, or use smaller settings."
    told = (
        error.__cause__ if isinstance(error, StageFailedError) and error.__cause__ else error
    )  # without the part about saved work
    text = summary(told).rstrip(".")
    return f"{capitalized(text)}."


def _result(config: Config, folder: Path, threads: int, report: Callable[[int], None]) -> Document:
    config = replace(config, rollout=replace(config.rollout, threads=config.rollout.threads or threads))
    session = _open_session(folder, config)
    curve = folder / _CURVE
    with closing(session), curve.open("a") as file, session_log(folder):
        print(file=file)  # ends a line that was interrupted by a kill

        def listen(event: Event) -> None:
            if isinstance(event, RolloutReported):
                if math.isfinite(event.true_return):
                    print(json.dumps([event.env_steps, event.true_return]), file=file, flush=True)
                report(event.env_steps)

        with closing(HeadlessRun(session, listen, threads)) as headless:
            outcome = headless.run()
    figures = "labels", "usable", "env_steps", "true_return", "measure", "divergences"
    return {
        **{name: getattr(outcome, name) for name in figures},
        "random_return": mean_return(random_returns(config)),
        "curve": read_curve(curve),
    }


def _open_session(folder: Path, config: Config) -> Session:
    """Return the session of a stopped run, which continues with the same result, or a new one."""
    if (folder / CONFIG).exists():
        try:
            return _undamaged(folder)
        except UserError as error:
            if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
                raise  # the files may be undamaged
            log.warning("The session of a stopped run is removed, and the cell is computed anew: %s", error)
    if folder.exists():  # stopped before the session was complete, or damaged
        remove_session(folder)
    return Session.create(folder, config)


def _undamaged(folder: Path) -> Session:
    """Open a session. Raises UserError if it can't be opened, or its list of answers is damaged."""
    session = Session.open(folder)
    try:
        session.reader().close()
    except UserError:
        session.close()
        raise
    return session
