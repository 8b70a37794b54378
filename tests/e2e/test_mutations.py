"""Damaged sessions: each gives one clear sentence or opens with all its answers, without a crash, hang or memory leak."""

from __future__ import annotations

import collections
import json
import os
import shutil
import subprocess
import sys
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
from tests.screens import ROOT, running

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="it asks the system for the memory taken as Unix has it"
)
_PATIENCE_SECONDS = 120
_MAX_MB = 1024.0


def opened(orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Open these copies in one process; return a result for each, ending with one that hangs or ends the process."""
    command = [sys.executable, "-m", "tests.e2e.opener"]
    lines = "".join(f"{json.dumps(order)}\n" for order in orders)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with running(command, cwd=ROOT, **pipes) as process:
        try:
            output, _ = process.communicate(lines, timeout=_PATIENCE_SECONDS + 10 * len(orders))
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate(timeout=_PATIENCE_SECONDS)
    results = [json.loads(line) for line in output.splitlines()]
    return results if len(results) == len(orders) else [*results, {"outcome": "hung or died"}]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a session that has answers and two checkpoints, the same session as left by a kill, and its export."""
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
        store.add(next(store.each()).query, Choice.LEFT, "human")
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
    found = [[p.id, p.query.id, str(p.choice)] for p in store.each()]
    store.close()
    opened.close()
    return found


def complaint(result: dict[str, Any], expected: list[list[Any]]) -> str | None:
    match result["outcome"]:
        case "opened" if result["answers"] != expected:
            return f"opened with {len(result['answers'])} of {len(expected)} answers"
        case "refused" if "\n" in result["text"] or not result["text"].endswith((".", "?")):
            return f"no plain sentence: {result['text']!r}"
        case "crashed" | "hung or died":
            return f"{result['outcome']}: {result.get('text', '')}"
    if result["mb"] > _MAX_MB:
        return f"{result['mb']:.0f} MB"
    return None


def spoil_and_open(taught: Path, place: Path, seeds: range) -> collections.Counter[str]:
    """Open damaged copies, forty at a time; return the number of each outcome. Fails with all complaints."""
    expected, complaints = answers(taught / "session"), []
    outcomes: collections.Counter[str] = collections.Counter()
    session, killed, packed = (taught / name for name in ("session", "killed", "packed"))
    for batch in (seeds[at : at + 40] for at in range(0, len(seeds), 40)):
        copies = []
        for seed in batch:
            inside = place / f"{seed}" / "a" / "b"
            inside.mkdir(parents=True)
            copies.append(mutated(session, killed, packed, inside, np.random.default_rng(seed)))
        results = opened([{"path": str(copy), "train": "config.json" not in what} for copy, what in copies])
        for seed, (_, what), result in zip(batch, copies, results, strict=False):
            outcomes[result["outcome"]] += 1
            folder = place / f"{seed}"
            escapes = (folder / "escaped", folder / "a" / "escaped", place / "escaped", Path("/tmp/escaped"))
            said = complaint(result, expected) or [path for path in escapes if path.exists()]
            if said:
                complaints.append(f"seed {seed}, {what}: {said}")
            shutil.rmtree(folder)
    assert not complaints, "\n".join(complaints)
    return outcomes


def test_spoiled_sessions_are_refused_or_open_whole(taught: Path, tmp_path: Path) -> None:
    outcomes = spoil_and_open(taught, tmp_path, range(10))
    assert outcomes["refused"] > 2 and outcomes["opened"] > 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_spoiled_sessions_are_refused_or_open_whole(taught: Path, tmp_path: Path) -> None:
    """SOMERSAULT_MUTATIONS is their number; a thousand by default."""
    count = int(os.environ.get("SOMERSAULT_MUTATIONS", "1000"))
    outcomes = spoil_and_open(taught, tmp_path, range(1000, 1000 + count))
    print(dict(outcomes))
    assert outcomes.total() == count
