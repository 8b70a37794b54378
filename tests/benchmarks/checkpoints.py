"""Cost of a checkpoint: python -m tests.benchmarks.checkpoints [--task TASK]

Teaches a task by its oracle in one process until its pool is full, and saves its states several times. Prints, as JSON,
the size of the file, the median processor and wall time of a checkpoint in milliseconds, the part of the wall time spent
writing that many bytes to disk, and the share of a core that checkpoints every twenty seconds take.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median

import torch

from core.config import Config, replaced
from core.headless.run import HeadlessRun
from core.io.files import write_atomically
from core.session.checkpoint_schedule import INTERVAL
from core.session.session import Session
from core.tasks import get_task

_SAVES = 15


def _taught(session: Session) -> HeadlessRun:
    """Return a run that has taken all steps of its session."""
    run, rollout = HeadlessRun(session, lambda event: None, threads=1, apart=False), session.config.rollout
    for _ in range(session.config.steps // (rollout.environments * rollout.steps)):
        run.cycle()
    return run


def measure(task: str, folder: Path) -> dict[str, float]:
    config = replaced(Config(task=task), **{**get_task(task).presets, "labels": 40, "query.first_labels": 15})
    steps, length = config.rollout.environments * config.rollout.steps, get_task(task).segment_steps
    config = replaced(config, steps=config.query.pool * length + 8 * steps)
    wall, processor, written = [], [], []
    with closing(Session.create(folder, config)) as session, closing(_taught(session)) as run:
        for number in range(_SAVES):
            started, used = time.perf_counter(), time.process_time()
            run.save()
            wall.append(time.perf_counter() - started)
            processor.append(time.process_time() - used)
            content = max((folder / "checkpoints").glob("*.safetensors")).read_bytes()
            started = time.perf_counter()
            write_atomically(folder / f"bare {number}", content)
            written.append(time.perf_counter() - started)
    return {
        "megabytes": round(len(content) / 1e6, 2),
        "processor_ms": round(1000 * median(processor), 1),
        "wall_ms": round(1000 * median(wall), 1),
        "of_which_writing_ms": round(1000 * median(written), 1),
        "share_of_a_core": round(median(processor) / INTERVAL, 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="hopper-backflip")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(parser.parse_args().task, Path(folder) / "s"), indent=1))


if __name__ == "__main__":
    main()
