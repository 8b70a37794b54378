"""Time to store and to read an answer: python -m tests.benchmarks.answers

Prints the medians in milliseconds for pairs of a robot (60 steps) and of a game (25 steps), and of three
bare syncs, as JSON. TMPDIR names a folder on the disk to measure.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

import numpy as np

from core.io.segment_codec import compress_segment
from core.preferences.store import PreferenceStore
from core.types import Choice, Query, Segment
from tests.core.builders import segment

_ANSWERS = 300


def game_segment() -> Segment:
    """Return a segment of pictures in which some pixels change at each step, with colour pictures of 6,144 bytes."""
    rng, steps = np.random.default_rng(0), 25
    pictures = np.repeat(rng.integers(0, 256, (1, 84, 84), np.uint8), steps + 3, 0)
    pictures[:, 40:44] = rng.integers(0, 256, (steps + 3, 4, 84), np.uint8)
    states = rng.integers(0, 256, (steps, 6144), np.uint8)
    plain = Segment(1, np.zeros((steps, 0), np.uint8), np.zeros((steps, 6), np.float32), states, None, 0)
    return compress_segment(plain, pictures)


def timed(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - started)


def measure(folder: Path, one: Segment) -> dict[str, float]:
    query = Query(1, one, one, 0.5)
    with closing(PreferenceStore(folder)) as store:
        added = [timed(lambda: store.add(query, Choice.LEFT, "human")) for _ in range(_ANSWERS)]
        read = [timed(lambda key=key: store.answer(key)) for key in range(1, _ANSWERS + 1)]
    opened = timed(lambda: PreferenceStore(folder, read_only=True).close())
    return {"add": median(added), "read": median(read), "open_all": opened}


def synced_thrice(path: Path) -> None:
    for _ in range(3):
        with open(path, "ab") as file:
            file.write(b"x" * 300)
            file.flush()
            os.fsync(file.fileno())


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as place:
        result = {
            "robot": measure(Path(place) / "robot", segment(1, 60)),
            "game": measure(Path(place) / "game", game_segment()),
            "three_syncs": median(timed(lambda: synced_thrice(Path(place) / "x")) for _ in range(50)),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
