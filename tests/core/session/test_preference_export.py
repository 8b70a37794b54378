"""Answers out of a session and into a new one, without losing a bit; and what other programs read of them."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.__main__ import main
from core.errors import UserError
from core.preferences.records import StoredPreference
from core.session.preference_export import export_preferences, import_preferences
from core.session.session import Session
from core.types import Choice, PoolReturns, Segment
from tests.core.builders import query, segment, tiny

PAGE = Path(__file__).parents[3] / "docs" / "answers.md"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """With one answer of each kind, one withdrawn, one changed twice and repeated; true rewards and returns."""
    made = Session.create(tmp_path / "s", tiny(seed=3, query__segment_steps=5))
    with closing(made.store()) as store:
        odd = query(7, segment(1, 5, [0.1, -2.5, 1e-7, 0.0, 1.0]), segment(2), disagreement=1 / 3)
        store.add(dataclasses.replace(odd, pool_returns=PoolReturns(-1.5, 0.1)), Choice.LEFT, "oracle", (0.1, 1e-30))
        store.add(query(8, disagreement=float("nan")), Choice.RIGHT, "human")
        store.add(query(9), Choice.TIE, "human")
        store.undo()
        store.add(query(10), Choice.CANT_TELL, "human")
        store.change(2, Choice.LEFT, "human")
        first = store.change(2, Choice.TIE, "oracle").query
        store.add(dataclasses.replace(first, left=first.right, right=first.left, repeats=2), Choice.RIGHT, "human")
        store.undo()
    yield made
    made.close()


def records(session: Session) -> list[StoredPreference]:
    with closing(session.store()) as store:
        return list(store.iter_records())


def fingerprint(value: Any) -> Any:
    """Everything in it, arrays bit for bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Segment | StoredPreference) or dataclasses.is_dataclass(value):
        return type(value).__name__, [fingerprint(getattr(value, field.name)) for field in dataclasses.fields(value)]
    return repr(value)


def test_the_round_trip_is_exact(session: Session, tmp_path: Path) -> None:
    assert export_preferences(session, tmp_path / "out") == (5, 0)
    assert import_preferences(tmp_path / "out", tmp_path / "back") == 5
    with closing(Session.open(tmp_path / "back")) as again:
        assert again.config == session.config
        assert [fingerprint(each) for each in records(again)] == [fingerprint(each) for each in records(session)]
        with closing(again.store()) as store:
            assert [p and p.id for p in (store.redo(), store.redo())] == [5, None]
            assert store.add(query(11), Choice.LEFT, "human").id == 6


def test_the_example_for_other_programs_reads_it(session: Session, tmp_path: Path) -> None:
    """The program printed in docs/answers.md, as it stands there."""
    export_preferences(session, tmp_path / "out")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    given: dict[str, Any] = {"folder": tmp_path / "out" / "preferences"}
    exec(code, given)
    expected = [each for each in records(session) if not each.withdrawn]
    assert list(given["answers"]) == [each.preference.id for each in expected]
    for each in expected:
        answer, (left, right) = given["answers"][each.preference.id], given["segments"](each.preference.id)
        assert answer["choice"] == each.preference.choice and answer["labeller"] == each.preference.labeller
        for arrays, original in ((left, each.preference.query.left), (right, each.preference.query.right)):
            assert np.array_equal(arrays["observations"], original.observations)
            assert np.array_equal(arrays["actions"], original.actions)


def test_from_a_damaged_store_the_undamaged_answers_are_saved(session: Session, tmp_path: Path) -> None:
    store = session.folder / "preferences"
    (store / "00000001.safetensors").write_bytes(b"x" * 100)
    log = store / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"cant', b'"can').replace(b"can't tell", b"can't sell"))
    with pytest.raises(UserError, match=f"preferences export {session.folder} FOLDER saves the undamaged answers"):
        records(session)
    assert export_preferences(session, tmp_path / "out") == (4, 1)
    assert import_preferences(tmp_path / "out", tmp_path / "back") == 4
    with closing(Session.open(tmp_path / "back")) as again:
        assert [(each.preference.id, str(each.preference.choice), each.withdrawn) for each in records(again)] == [
            *((2, "tie", False), (3, "tie", True), (4, "can't tell", False), (5, "right", True)),
        ]


def test_answers_that_are_damaged_or_of_another_task_are_not_imported(session: Session, tmp_path: Path) -> None:
    export_preferences(session, tmp_path / "out")
    config = tmp_path / "out" / "config.json"
    right = config.read_text()
    config.write_text(right.replace("hopper-backflip", "walker"))
    with pytest.raises(UserError, match="Answer 1 is not an answer about walker"):
        import_preferences(tmp_path / "out", tmp_path / "back")
    config.write_text(right)
    os.truncate(tmp_path / "out" / "preferences" / "00000004.safetensors", 200)
    with pytest.raises(UserError, match=r"00000004.safetensors is damaged"):
        import_preferences(tmp_path / "out", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_on_the_command_line(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session.close()
    monkeypatch.chdir(tmp_path)

    def status(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["core", "preferences", *words])
        return main()

    assert status("export", "s", "out") == 0 and "wrote 5 answers to out\n" in capsys.readouterr().err
    assert status("import", "out", "back") == 0 and "made back with 5 answers\n" in capsys.readouterr().err
    assert status("import", "s", "new") == 0  # a session is its own export
    for words in (("export", "s", "out"), ("import", "out", "back"), ("import", "no", "newer")):
        capsys.readouterr()
        assert status(*words) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    os.truncate("s/preferences/00000003.safetensors", 0)
    capsys.readouterr()
    assert status("export", "s", "saved") == 0
    assert "wrote 4 answers to saved; 1 more could not be read\n" in capsys.readouterr().err
