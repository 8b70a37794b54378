"""Disk and memory of a long session of a game: 5,500 answers about clips in colour.

    python3 -m tests.benchmarks.picture_session --task enduro --labels 5500

A thousand clips of random play are repeated under new numbers and answered by the oracle. A fresh process then resumes
the session for two batches and a round of the reward fit. Prints one JSON object: MB of the store and of the whole
folder, the peak resident size of the process in MB, and the mean kB of a segment.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from core.config import Config, replaced
from core.envs import make_envs
from core.envs.base import CaptureSchedule
from core.headless.run import HeadlessRun
from core.io.segment_codec import from_arrays, to_arrays
from core.preferences import oracle
from core.rollout.segments import SegmentBuilder
from core.session.session import Session
from core.tasks import get_task
from core.types import Query, Segment

_AT_ONCE, _CLIPS = 16, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="enduro", help="a game")
    parser.add_argument("--labels", type=int, default=5500, help="answers of the session")
    parser.add_argument("--resume", metavar="DIR", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.resume:
        print(_resumed(Path(args.resume)))
        return
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session"
        size = _fill(session, args.task, args.labels)
        command = [sys.executable, "-m", "tests.benchmarks.picture_session", "--resume", str(session)]
        peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
        store = sum(path.stat().st_size for path in (session / "preferences").iterdir())
        whole = sum(path.stat().st_size for path in session.rglob("*") if path.is_file())
    figures = {"store_mb": store / 1e6, "folder_mb": whole / 1e6, "peak_mb": peak / 1e3, "segment_kb": size / 1e3}
    print(json.dumps({"task": args.task, "labels": args.labels, **{n: round(v, 1) for n, v in figures.items()}}))


def _fill(folder: Path, name: str, labels: int) -> float:
    """Make the session; return the mean size of a segment in bytes."""
    task = get_task(name)
    config = replaced(Config(task=name), **{**task.presets, "labels": labels, "rollout.captured_envs": _AT_ONCE})
    batch = config.rollout.environments * config.rollout.steps
    config = replaced(config, steps=2 * batch, **{"reward.epochs_first": 1})
    session = Session.create(folder, config)
    clips = list(itertools.islice(_random_play(config), min(_CLIPS, 2 * labels)))
    numbered = (from_arrays(n, 0, to_arrays(clip)) for n, clip in enumerate(itertools.cycle(clips), 1))
    with closing(session.store()) as store:
        for number in range(labels):
            query = Query(number, next(numbered), next(numbered), 0.5)
            store.add(query, oracle.answer(query, config).choice, "oracle")
    session.close()
    return float(np.mean([sum(array.nbytes for array in to_arrays(clip).values()) for clip in clips]))


def _random_play(config: Config) -> Iterator[Segment]:
    task, rng = get_task(config.task), np.random.default_rng(0)
    env = make_envs(task, _AT_ONCE, rng, capture=CaptureSchedule(_AT_ONCE, task.segment_steps))
    builder = SegmentBuilder(env, task.segment_steps, np.arange(_AT_ONCE) % task.segment_steps, task.pictures)
    while True:
        before, states = env.observations, env.states
        actions = np.eye(env.sizes[1], dtype=np.float32)[rng.integers(env.sizes[1], size=_AT_ONCE)]
        step = env.step(actions)
        yield from builder.add(before, actions, states, step, env.clip_available, 0)


def _resumed(folder: Path) -> int:
    """Resume the session; return the peak resident size of this process in kB."""
    import resource

    session = Session.open(folder)
    with closing(HeadlessRun(session, lambda event: None)) as run:
        run.run()
    session.close()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
