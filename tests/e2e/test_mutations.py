"""Spoiled sessions: each gives one clear sentence or opens with all its answers. No crash, no hang, no memory eaten."""

from __future__ import annotations

import collections
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.headless.run import HeadlessRun
from core.session.archive import export_session
from core.session.session import Session
from core.types import Choice
from tests.core.builders import tiny
from tests.e2e.mutations import mutated

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="it asks the system for the memory taken as Unix has it"
)
_PATIENCE_SECONDS = 120
_MAX_SECONDS, _MAX_MB = 5.0, 1024.0


class Opener:
    """The process that opens; started anew when it hangs or dies."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.opener"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process, self._lines))
        self._reader.start()

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            lines.put(line)
        lines.put(json.dumps({"outcome": "died"}))

    def open(self, path: Path, train: bool) -> dict[str, Any]:
        assert self._process.stdin
        print(json.dumps({"path": str(path), "train": train}), file=self._process.stdin, flush=True)
        try:
            result: dict[str, Any] = json.loads(self._lines.get(timeout=_PATIENCE_SECONDS))
        except queue.Empty:
            result = {"outcome": "hung"}
        if result["outcome"] in ("hung", "died"):
            self.close()
            self._start()
        return result

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()


@pytest.fixture
def opener() -> Iterator[Opener]:
    made = Opener()
    yield made
    made.close()


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a session that has answers and two checkpoints; the same as a kill leaves it, and as one file."""
    place = tmp_path_factory.mktemp("taught")
    session = Session.create(place / "session", tiny())
    run = HeadlessRun(session, lambda event: None)
    for _ in range(2):
        for _ in range(4):
            run.cycle()
        run.save()
    run.close()
    with closing(session.store()) as store:
        store.undo()
        store.redo()
        store.change(1, Choice.TIE, "human")
        store.add(store.all()[0].query, Choice.LEFT, "human")
    export_session(session, place / "packed")
    session.close()
    shutil.copytree(session.folder, place / "killed")
    newest = max((place / "killed" / "preferences").glob("*.safetensors"))
    newest.rename(newest.with_suffix(".part"))
    with open(place / "killed" / "preferences" / "log.jsonl", "ab") as log:
        log.write(b'{"do":"add","answer":{"id":')
    assert answers(place / "killed") == answers(place / "session")
    return place


def answers(session: Path) -> list[list[Any]]:
    opened = Session.open(session)
    store = opened.store()
    found = [[p.id, p.query.id, str(p.choice)] for p in store.all()]
    store.close()
    opened.close()
    return found


def complaint(result: dict[str, Any], expected: list[list[Any]]) -> str | None:
    match result["outcome"]:
        case "opened" if result["answers"] != expected:
            return f"opened with {len(result['answers'])} of {len(expected)} answers"
        case "refused" if "\n" in result["text"] or not result["text"].endswith((".", "?")):
            return f"no plain sentence: {result['text']!r}"
        case "crashed" | "hung" | "died":
            return f"{result['outcome']}: {result.get('text', '')}"
    if result["seconds"] > _MAX_SECONDS or result["mb"] > _MAX_MB:
        return f"{result['seconds']:.1f} s, {result['mb']:.0f} MB"
    return None


def spoil_and_open(taught: Path, place: Path, opener: Opener, seeds: range) -> collections.Counter[str]:
    """Opens so many spoiled copies; what came of them. Fails with every complaint there is."""
    expected, complaints = answers(taught / "session"), []
    outcomes: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        inside = place / "a" / "b"
        inside.mkdir(parents=True)
        session, killed, packed = (taught / name for name in ("session", "killed", "packed"))
        copy, what = mutated(session, killed, packed, inside, np.random.default_rng(seed))
        result = opener.open(copy, train="config.json" not in what)
        outcomes[result["outcome"]] += 1
        said = complaint(result, expected)
        escaped = [path for path in (place / "escaped", place / "a" / "escaped", Path("/tmp/escaped")) if path.exists()]
        if said or escaped:
            complaints.append(f"seed {seed}, {what}: {said or escaped}")
        shutil.rmtree(place / "a")
    assert not complaints, "\n".join(complaints)
    return outcomes


def test_forty_spoiled_sessions(taught: Path, tmp_path: Path, opener: Opener) -> None:
    outcomes = spoil_and_open(taught, tmp_path, opener, range(40))
    assert outcomes["refused"] > 5 and outcomes["opened"] > 5


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_spoiled_sessions(taught: Path, tmp_path: Path, opener: Opener) -> None:
    """SOMERSAULT_MUTATIONS says how many; a thousand by default."""
    count = int(os.environ.get("SOMERSAULT_MUTATIONS", "1000"))
    outcomes = spoil_and_open(taught, tmp_path, opener, range(1000, 1000 + count))
    print(dict(outcomes))
    assert outcomes.total() == count
