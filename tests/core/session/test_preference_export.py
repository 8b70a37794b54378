"""Lossless export of answers and import into a new session, and the format for other programs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from core.session.preference_export import export_preferences, import_preferences
from core.session.session import Session
from core.types import Choice, PoolReturns
from tests.core.builders import query, segment, tiny

PAGE = Path(__file__).parents[3] / "docs" / "answers.md"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """Session with an answer of each kind, one withdrawn, one changed twice and repeated, and true rewards and returns."""
    made = Session.create(tmp_path / "s", tiny(seed=3, query__segment_steps=5))
    with closing(made.store()) as store:
        odd = query(7, segment(1, 5, [0.1, -2.5, 1e-7, 0.0, 1.0]), segment(2), disagreement=1 / 3)
        store.add(replace(odd, pool_returns=PoolReturns(-1.5, 0.1)), Choice.LEFT, "oracle", (0.1, 1e-30))
        store.add(query(8, disagreement=float("nan")), Choice.RIGHT, "human")
        store.add(query(9), Choice.TIE, "human")
        store.undo()
        store.add(query(10), Choice.CANT_TELL, "human")
        store.change(2, Choice.LEFT, "human")
        first = store.change(2, Choice.TIE, "oracle").query
        store.add(replace(first, left=first.right, right=first.left, repeats=2), Choice.RIGHT, "human")
        store.undo()
        store.redo()
    yield made
    made.close()


def stored(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "preferences").iterdir()}


def test_exported_answers_are_imported_exactly(session: Session, tmp_path: Path) -> None:
    made = export_preferences(session, tmp_path / "out")
    assert (made.answers, made.lost, made.changes_lost) == (5, 0, 0)
    assert import_preferences(tmp_path / "out", tmp_path / "back") == 5
    assert stored(tmp_path / "back") == stored(tmp_path / "out") == stored(session.folder)
    with closing(Session.open(tmp_path / "back")) as again:
        assert again.config == session.config


def test_the_documented_example_reads_an_export(session: Session, tmp_path: Path) -> None:
    """The program in docs/answers.md runs unchanged."""
    export_preferences(session, tmp_path / "out")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    given: dict[str, Any] = {"folder": tmp_path / "out" / "preferences"}
    exec(code, given)
    with closing(session.store()) as store:
        expected = [store.answer(row.id) for row in store.rows() if not row.withdrawn]
    assert list(given["answers"]) == [each.id for each in expected] == [1, 2, 4, 5]
    for each in expected:
        answer, sides = given["answers"][each.id], given["segments"](each.id)
        assert answer["choice"] == each.choice and answer["labeller"] == each.labeller
        for arrays, original in zip(sides, (each.query.left, each.query.right), strict=True):
            assert np.array_equal(arrays["observations"], original.observations)
            assert np.array_equal(arrays["actions"], original.actions)


def test_damaged_answers_and_those_of_another_task_are_not_imported(session: Session, tmp_path: Path) -> None:
    export_preferences(session, tmp_path / "out")
    config = tmp_path / "out" / "config.json"
    right = config.read_text()
    config.write_text(right.replace("hopper-backflip", "walker"))
    with pytest.raises(UserError, match="Answer 1 does not fit walker"):
        import_preferences(tmp_path / "out", tmp_path / "back")
    config.write_text(right)
    os.truncate(tmp_path / "out" / "preferences" / "00000004.safetensors", 200)
    with pytest.raises(UserError, match=r"00000004.safetensors is damaged"):
        import_preferences(tmp_path / "out", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_the_commands_report_the_numbers_of_exported_and_imported_answers(
    session: Session, cli: Callable[..., Any]
) -> None:
    session.close()
    assert "wrote 5 answers to out\n" in cli("preferences", "export", "s", "out").err
    assert "made back with 5 answers\n" in cli("preferences", "import", "out", "back").err
    cli("preferences", "import", "s", "new")  # a session folder can be imported like an export
    for words in (("export", "s", "out"), ("import", "out", "back"), ("import", "no", "newer")):
        cli("preferences", *words, code=2)
    os.truncate("s/preferences/00000003.safetensors", 0)
    assert "wrote 4 answers to saved; 1 more could not be read\n" in cli("preferences", "export", "s", "saved").err
    assert "with 4 answers\n" in cli("preferences", "import", "saved", "mended").err
    os.truncate("s/preferences/log.jsonl", 0)
    gone = "; 1 more could not be read; lines of the list of answers are gone, so changed or undone answers may be as first given"
    assert f"wrote 4 answers to rest{gone}\n" in cli("preferences", "export", "s", "rest").err
