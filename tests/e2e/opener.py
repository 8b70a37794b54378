"""Program that opens the files named on stdin, and writes each outcome to stdout as a JSON object per line."""

from __future__ import annotations

import json
import resource
import sys
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import torch

from core.errors import NotFiniteError, UserError
from core.headless.run import HeadlessRun
from core.session.archive import import_session
from core.session.session import Session


def opened(path: Path, train: bool) -> list[list[Any]]:
    """Import or open a session, let it train for a moment if `train`, and return its answers."""
    if path.is_file():
        import_session(path, path.parent / "imported")
        path = path.parent / "imported"
    session = Session.open(path)
    try:
        if not train:  # a config that requires much memory is valid, but must not be run here
            session.load()
            with closing(session.store()) as store:
                return [[p.id, p.query.id, str(p.choice)] for p in store.each()]
        with closing(HeadlessRun(session, lambda event: None, threads=1)) as run:
            with closing(session.reader()) as store:
                answers = [[p.id, p.query.id, str(p.choice)] for p in store.each()]
            run.cycle()
        return answers
    finally:
        session.close()


def most_memory() -> float:
    """Return the peak memory of this process in MB. Linux's getrusage would include that of its parent before exec."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def main() -> None:
    torch.set_num_threads(1)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            result = {"outcome": "opened", "answers": opened(Path(order["path"]), order["train"])}
        except (UserError, NotFiniteError) as error:
            result = {"outcome": "refused", "text": str(error)}
        except BaseException:
            result = {"outcome": "crashed", "text": traceback.format_exc()}
        result["mb"] = most_memory()
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
