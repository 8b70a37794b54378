"""A session taught headless to its end in its own process, which a test may stop at any moment.

The processes are forked from one that has imported everything, so that hundreds of them can be run in minutes.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
from contextlib import closing
from dataclasses import asdict
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from core.config import Config
from core.events import Event, RolloutReported
from core.headless.run import HeadlessRun
from core.session.session import Session
from core.system.interrupts import STOPPING

_IMPORTS = ("core.jobs.rollout", "core.jobs.policy", "core.jobs.reward", "mujoco.rollout")


def forking() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *_IMPORTS])
    return context


def start(context: ForkServerContext, folder: Path, config: Config) -> tuple[BaseProcess, Connection]:
    """Start or resume the session in `folder`. The connection receives its environment steps after each batch, and its
    final figures at the end.
    """
    mine, its = context.Pipe(duplex=False)
    process = context.Process(target=_teach, args=(its, folder, config))
    process.start()
    its.close()
    return process, mine


def _teach(pipe: Connection, folder: Path, config: Config) -> None:
    # The program starts its fork server with these blocked; an earlier test may have started it without.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)

    def listen(event: Event) -> None:
        if isinstance(event, RolloutReported) and event.batch_steps:
            pipe.send(event.env_steps)

    session = Session.open(folder) if (folder / "config.json").exists() else Session.create(folder, config)
    with closing(session), closing(HeadlessRun(session, listen, threads=1, apart=False)) as run:
        try:
            outcome = run.run()
        except KeyboardInterrupt as stopped:
            raise SystemExit(128 + stopped.args[0]) from None
    pipe.send(_summary(folder, asdict(outcome)))


def _summary(folder: Path, outcome: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a session, its answers, and a digest of the weights of policy and reward."""
    session, digest = Session.open(folder), hashlib.sha256()
    _, states = session.load() or (0, {})
    for job in ("policy", "reward"):
        for name, array in sorted(states[job].arrays.items()):
            digest.update(name.encode() + array.tobytes())
    with closing(session), closing(session.reader()) as store:
        answers = [(p.query.id, str(p.choice)) for p in store.each()]
    figures = {name: outcome[name] for name in ("env_steps", "labels", "true_return", "measure", "divergences")}
    return {**figures, "answers": answers, "weights": digest.hexdigest()}
