"""Answers as a table and arrays: out and back without a bit lost, and readable by other programs."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import sqlite3
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from core.__main__ import main
from core.errors import UserError
from core.io import files
from core.preferences.store import PreferenceStore, StoredPreference
from core.session.preference_export import export_preferences, import_preferences
from core.session.session import Session
from core.types import Choice, PoolReturns, Segment
from tests.core.builders import query, segment, tiny


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """With one answer of each kind, one taken back, one changed twice and repeated; true rewards and returns."""
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
    yield made
    made.close()


def history(session: Session) -> list[StoredPreference]:
    with closing(session.store()) as store:
        return store.history()


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
    again = Session.open(tmp_path / "back")
    assert again.config == session.config
    assert [fingerprint(kept) for kept in history(again)] == [fingerprint(kept) for kept in history(session)]
    with closing(again.store()) as store:
        assert store.add(query(11), Choice.LEFT, "human").id == 6
    export_preferences(again, tmp_path / "twice")
    again.close()


def test_what_was_taken_back_can_be_given_again_after_the_round_trip(session: Session, tmp_path: Path) -> None:
    with closing(session.store()) as store:
        store.undo()
        store.undo()
    export_preferences(session, tmp_path / "out")
    import_preferences(tmp_path / "out", tmp_path / "back")
    again = Session.open(tmp_path / "back")
    assert [(kept.withdrawn, kept.undone) for kept in history(again)] == [
        *((False, False), (False, False)),
        *((True, False), (True, True), (True, True)),  # a new answer came after the first that was taken back
    ]
    with closing(again.store()) as store:
        given = [store.redo() for _ in range(3)]
    again.close()
    assert [preference and preference.id for preference in given] == [4, 5, None]


def test_exported_twice_it_is_the_same(session: Session, tmp_path: Path) -> None:
    for name in ("one", "two"):
        export_preferences(session, tmp_path / name)
    for file in ("preferences.json", "config.json", "segments.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_another_program_can_read_it(session: Session, tmp_path: Path) -> None:
    export_preferences(session, tmp_path / "out")
    table = json.loads((tmp_path / "out" / "preferences.json").read_text())
    arrays = load_file(tmp_path / "out" / "segments.safetensors")
    assert [row["choice"] for row in table["preferences"]] == ["left", "tie", "tie", "can't tell", "right"]
    assert [row["withdrawn"] for row in table["preferences"]] == [False, False, True, False, False]
    assert [row["repeats"] for row in table["preferences"]] == [None, None, None, None, 2]
    was = [(entry["choice"], entry["labeller"], entry["newest"]) for entry in table["preferences"][1]["changes"]]
    assert was == [("right", "human", 4), ("left", "human", 4)]
    assert table["preferences"][1]["disagreement"] is None
    assert table["preferences"][0]["returns"] == [0.1, 1e-30]
    left = table["preferences"][0]["left"]
    assert (arrays[f"states.{left}"] == segment(1).states).all()
    assert f"true_rewards.{left}" in arrays and f"true_rewards.{table['preferences'][1]['left']}" not in arrays


def test_from_a_damaged_store_what_is_whole_is_saved(session: Session, tmp_path: Path) -> None:
    with closing(sqlite3.connect(session.folder / "preferences.sqlite")) as vandal:
        vandal.execute("UPDATE segments SET arrays = x'00' WHERE id = 1")
        vandal.execute("UPDATE preferences SET choice = 'tie' WHERE id = 4")
        vandal.commit()
    with pytest.raises(UserError, match="preferences export"):
        history(session)
    assert export_preferences(session, tmp_path / "out") == (3, 2)
    assert import_preferences(tmp_path / "out", tmp_path / "back") == 3


def test_a_page_of_zeros_costs_only_the_answers_on_it(tmp_path: Path) -> None:
    session = Session.create(tmp_path / "s", tiny())
    with closing(session.store()) as store:
        for number in range(30):
            store.add(query(number, segment(number, 40), segment(number, 40)), Choice.LEFT, "human")
    path = session.folder / "preferences.sqlite"
    content = bytearray(path.read_bytes())
    content[40 * 4096 : 41 * 4096] = bytes(4096)
    path.write_bytes(content)
    with pytest.raises(UserError, match="damaged|can't be read"):
        history(session)
    count, lost = export_preferences(session, tmp_path / "out")
    session.close()
    assert count + lost == 30 and count >= 20


@pytest.mark.parametrize(
    "bound",
    [
        "core.session.preference_export._MAX_TABLE",
        "core.session.preference_export._MAX_ARRAYS",
        "core.io.tensor_file._MAX_HEADER",
    ],
)
def test_more_than_can_be_imported_is_not_exported_unless_nothing_else_saves_it(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, bound: str
) -> None:
    monkeypatch.setattr(bound, 1000)
    with pytest.raises(UserError, match="has 5 answers, more than can be imported again: take them along with .* FILE"):
        export_preferences(session, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with closing(sqlite3.connect(session.folder / "preferences.sqlite")) as vandal:
        vandal.execute("UPDATE preferences SET choice = 'tie' WHERE id = 4")
        vandal.commit()
    with caplog.at_level(logging.WARNING):
        assert export_preferences(session, tmp_path / "out") == (4, 1)
    assert "has 4 answers, more than can be imported again: read them with another program." in caplog.text
    with pytest.raises(UserError, match="bytes|size"):
        import_preferences(tmp_path / "out", tmp_path / "back")


def altered(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    table = json.loads((folder / "preferences.json").read_text())
    change(table)
    (folder / "preferences.json").write_text(json.dumps(table))


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.update(format="recipes"),
        lambda table: table.update(version=99),
        lambda table: table.pop("segments"),
        lambda table: table["preferences"].append(table["preferences"][0]),
        lambda table: table["preferences"][0].update(left=10**6),
        lambda table: table["preferences"][0].update(id="1; DROP TABLE preferences"),
        lambda table: table["preferences"][0].update(id=-1),
        lambda table: table["preferences"][0].update(id=0),
        lambda table: table["preferences"][0].update(id=1 << 31),
        lambda table: table["preferences"][0].update(choice="maybe"),
        lambda table: table["preferences"][0].update(answered_at="yesterday"),
        lambda table: table["preferences"][0].update(answered_at=float("inf")),
        lambda table: table["preferences"][0].update(disagreement=float("nan")),
        lambda table: table["preferences"][0].update(returns=[0, float("-inf")]),
        lambda table: table["preferences"][0].update(labeller="\ud800"),
        lambda table: table["preferences"][0].update(repeats="one"),
        lambda table: table["preferences"][0].update(changes=[{"choice": "left"}]),
        lambda table: table["preferences"][1]["changes"][0].update(choice="maybe"),
        lambda table: table["segments"][0].update(env_steps=10**30),
        lambda table: table["segments"].append({"id": 77, "env_steps": 1}),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_and_nothing_is_made(
    session: Session, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    export_preferences(session, tmp_path / "out")
    altered(tmp_path / "out", change)
    with pytest.raises(UserError) as told:
        import_preferences(tmp_path / "out", tmp_path / "back")
    assert "\n" not in str(told.value) and str(told.value).endswith(".")
    assert not (tmp_path / "back").exists()


def full(*_: object) -> None:
    raise UserError("The disk is full.")


@pytest.mark.parametrize("there", [False, True])
def test_an_import_that_fails_can_be_made_again(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    export_preferences(session, tmp_path / "out")
    if there:
        (tmp_path / "back").mkdir()
    with monkeypatch.context() as broken, pytest.raises(UserError, match="full"):
        broken.setattr(PreferenceStore, "restore", full)
        import_preferences(tmp_path / "out", tmp_path / "back")
    assert (tmp_path / "back").exists() == there
    assert import_preferences(tmp_path / "out", tmp_path / "back") == 5


def test_an_export_that_fails_can_be_made_again(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = files.write_atomically
    with monkeypatch.context() as broken, pytest.raises(UserError, match="full"):
        broken.setattr(
            files, "write_atomically", lambda path, text: (full if "json" in path.name else write)(path, text)
        )
        export_preferences(session, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert export_preferences(session, tmp_path / "out") == (5, 0)


def test_answers_to_another_task_are_not_imported(session: Session, tmp_path: Path) -> None:
    export_preferences(session, tmp_path / "out")
    config = tmp_path / "out" / "config.json"
    config.write_text(config.read_text().replace("hopper-backflip", "walker"))
    with pytest.raises(UserError, match="Answer 1 is none to the task walker"):
        import_preferences(tmp_path / "out", tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(("name", "size"), [("preferences.json", 25 << 20), ("segments.safetensors", 769 << 20)])
def test_files_larger_than_any_of_ours_are_refused_unread(
    session: Session, tmp_path: Path, name: str, size: int
) -> None:
    export_preferences(session, tmp_path / "out")
    os.truncate(tmp_path / "out" / name, size)  # takes no room on the disk
    with pytest.raises(UserError, match="bytes|size"):
        import_preferences(tmp_path / "out", tmp_path / "back")


def test_a_small_file_is_given_no_more_room_than_it_needs(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    tracemalloc.start()
    try:
        assert files.read_small(tmp_path / "x", 1 << 30) == b"abc"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_table_of_the_first_version_is_read(session: Session, tmp_path: Path) -> None:
    export_preferences(session, tmp_path / "out")

    def older(table: dict[str, Any]) -> None:
        table.update(version=1)
        for row in table["preferences"]:
            del row["repeats"], row["changes"]

    altered(tmp_path / "out", older)
    assert import_preferences(tmp_path / "out", tmp_path / "back") == 5


def test_arrays_that_make_no_sense_are_refused(session: Session, tmp_path: Path) -> None:
    export_preferences(session, tmp_path / "out")
    path = tmp_path / "out" / "segments.safetensors"
    for arrays in ({}, {**load_file(path), "actions.1": np.zeros((1, 3), np.float32)}):
        save_file(arrays, path)
        with pytest.raises(UserError, match="not whole"):
            import_preferences(tmp_path / "out", tmp_path / "back")
    path.write_bytes(b"x" * 100)
    with pytest.raises(UserError, match="damaged"):
        import_preferences(tmp_path / "out", tmp_path / "back")


def test_words_of_another_program_are_values_not_commands(session: Session, tmp_path: Path) -> None:
    export_preferences(session, tmp_path / "out")
    labeller = "x'); DROP TABLE preferences; --"
    altered(tmp_path / "out", lambda table: table["preferences"][0].update(labeller=labeller))
    import_preferences(tmp_path / "out", tmp_path / "back")
    with closing(PreferenceStore(tmp_path / "back" / "preferences.sqlite")) as store:
        assert store.all()[0].labeller == labeller


def test_on_the_command_line(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session.close()

    def status(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["core", "preferences", *words])
        return main()

    assert status("export", "s", "out") == 0 and "5 answers" in capsys.readouterr().err
    assert status("import", "out", "back") == 0
    for words in (("export", "s", "out"), ("import", "out", "back"), ("import", "s", "new"), ("import", "no", "new")):
        capsys.readouterr()
        assert status(*words) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
