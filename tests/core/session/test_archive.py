"""Sessions as one file: lossless export and import, and harmless malicious files."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from core.errors import UserError
from core.events import JobState
from core.metrics import Metrics
from core.preferences.store import PreferenceStore
from core.session import library, metrics_file, summary
from core.session.archive import export_session, import_session
from core.session.diagnostics import collect
from core.session.session import Session
from core.types import Choice
from core.voting.record import NAME as VOTES
from core.voting.record import append_votes, read_votes
from tests.core.builders import query, tiny


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """An open session with four answers, the last one undone, and two checkpoints."""
    made = Session.create(tmp_path / "s", tiny(seed=3, query__segment_steps=5))
    store = made.store()
    for number in range(4):
        store.add(query(number), list(Choice)[number], "human")
    store.undo()
    for number in (1, 2):
        made.save(number, {"policy": JobState({"x": np.full(5, number, np.float32)}, {"n": number})})
    yield made
    store.close()
    made.close()


@pytest.fixture
def packed(session: Session, tmp_path: Path) -> Path:
    export_session(session, tmp_path / "shared.somersault")
    return tmp_path / "shared.somersault"


def test_an_exported_session_is_imported_completely(session: Session, tmp_path: Path) -> None:
    curves, again_curves = Metrics(), Metrics()
    curves.append("loss", 1.5, 0.25)
    metrics_file.save(session.folder, curves)
    append_votes(session.folder, 1, Choice.LEFT, {"a" * 32: Choice.LEFT, "b" * 32: Choice.TIE})
    with open(session.folder / VOTES, "a") as file:
        file.write('{"answer": 2, "choi')  # left by a crash while votes were written
    append_votes(session.folder, 3, Choice.RIGHT, {"b" * 32: Choice.RIGHT})
    export_session(session, tmp_path / "shared.somersault")
    import_session(tmp_path / "shared.somersault", tmp_path / "deep" / "back")
    metrics_file.load(tmp_path / "deep" / "back", again_curves)
    assert again_curves.series()["loss"].points().tolist() == [[1.5, 0.25]]
    votes = read_votes(tmp_path / "deep" / "back")
    assert votes == read_votes(session.folder) and [*votes] == [1, 3]
    again = Session.open(tmp_path / "deep" / "back")
    assert again.config == session.config
    with closing(again.store()) as store, closing(session.store()) as original:
        for mine, its in zip(store.each(), original.each(), strict=True):
            assert (mine.id, mine.choice, mine.answered_at) == (its.id, its.choice, its.answered_at)
            assert (mine.query.left.states == its.query.left.states).all()
        assert store.add(query(9), Choice.TIE, "human").id == 5  # the undone answer keeps its number
    loaded = again.load()
    assert loaded and loaded[0] == 2 and loaded[1]["policy"].values == {"n": 2}
    again.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "s", "shared.somersault"]
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["back"]


def test_checkpoints_saved_during_an_export_delete_none_of_its_files(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = PreferenceStore.snapshot

    def taught_meanwhile(store: PreferenceStore) -> Iterator[tuple[str, bytes | bytearray]]:
        yield from snapshot(store)
        for number in (3, 4):
            session.save(number, {"policy": JobState({}, {"n": number})})

    monkeypatch.setattr(PreferenceStore, "snapshot", taught_meanwhile)
    export_session(session, tmp_path / "shared.somersault")
    import_session(tmp_path / "shared.somersault", tmp_path / "back")
    assert [path.stem for path in sorted((tmp_path / "back" / "checkpoints").iterdir())] == ["00000001", "00000002"]


@pytest.mark.parametrize("seconds", [0, 1 << 33])
def test_a_time_outside_the_range_of_zip_prevents_neither_export_nor_diagnostics(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    for path in (session.folder / "config.json", session.folder / "checkpoints" / "00000002.safetensors"):
        os.utime(path, (seconds, seconds))
    monkeypatch.setattr(zipfile.time, "localtime", lambda *_: time.gmtime(seconds))
    export_session(session, tmp_path / "shared")
    import_session(tmp_path / "shared", tmp_path / "back")
    collect(session.folder, tmp_path / "diagnostics.zip")
    with zipfile.ZipFile(tmp_path / "diagnostics.zip") as opened:
        assert opened.namelist() == ["config.json", "about.json"]


@pytest.mark.parametrize("size", [5000, summary.MAX_PICTURE + 1])
def test_the_preview_picture_is_exported_unless_it_is_invalid(session: Session, tmp_path: Path, size: int) -> None:
    picture = b"\xff\xd8\xff" + bytes(size - 3)
    (session.folder / summary.PICTURE).write_bytes(picture)
    export_session(session, tmp_path / "shared.somersault")
    import_session(tmp_path / "shared.somersault", tmp_path / "back")
    received = tmp_path / "back" / summary.PICTURE
    assert received.read_bytes() == picture if size < summary.MAX_PICTURE else not received.exists()


def test_an_import_never_overwrites_anything(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="not an empty folder"):
        import_session(packed, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "x"
    (tmp_path / "empty").mkdir()
    import_session(packed, tmp_path / "empty")


def remade(packed: Path, change: Callable[[zipfile.ZipFile, dict[str, bytes]], None]) -> None:
    """Rewrite the file with the content changed by `change`."""
    with zipfile.ZipFile(packed) as opened:
        content = {name: opened.read(name) for name in opened.namelist()}
    with zipfile.ZipFile(packed, "w") as opened:
        change(opened, content)
        for name, data in content.items():
            opened.writestr(name, data)


def also(
    name: str, data: bytes = b"x", mode: int = stat.S_IFREG
) -> Callable[[zipfile.ZipFile, dict[str, bytes]], None]:
    def change(opened: zipfile.ZipFile, content: dict[str, bytes]) -> None:
        member = zipfile.ZipInfo(name)
        member.external_attr = (mode | 0o644) << 16
        content.pop(name, None)
        opened.writestr(member, data)

    return change


def twice(opened: zipfile.ZipFile, content: dict[str, bytes]) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        opened.writestr("config.json", content["config.json"])
        opened.writestr("config.json", b"{}")
    del content["config.json"]


def bomb(opened: zipfile.ZipFile, content: dict[str, bytes]) -> None:
    opened.writestr("checkpoints/00000003.safetensors", bytes(64 << 20), zipfile.ZIP_DEFLATED)


def many(opened: zipfile.ZipFile, content: dict[str, bytes]) -> None:
    for number in range(40):
        opened.writestr(f"checkpoints/{number:08d}.safetensors", b"x")
    for number in (1, 2):
        del content[f"checkpoints/{number:08d}.safetensors"]


def rare_packing(opened: zipfile.ZipFile, content: dict[str, bytes]) -> None:
    opened.writestr("checkpoints/00000003.safetensors", b"x", zipfile.ZIP_LZMA)


_STRANGE = "a file that does not belong in a session"


def hungry_config(opened: zipfile.ZipFile, content: dict[str, bytes]) -> None:
    values = json.loads(content["config.json"])
    values["rollout"]["steps"] = 10**12
    content["config.json"] = json.dumps(values).encode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (also("../escaped"), _STRANGE),
        (also("checkpoints/../../escaped"), _STRANGE),
        (also("..\\escaped"), _STRANGE),
        (also("checkpoints/00000001.safetensors/"), _STRANGE),
        (also("preferences/00000001.part"), _STRANGE),
        (also("checkpoints/00000001.safetensors", b"/etc/passwd", stat.S_IFLNK), _STRANGE),
        (also("checkpoints/00000001.safetensors", b"", stat.S_IFIFO), _STRANGE),
        (twice, "a file twice"),
        (bomb, "far more than its size suggests"),
        (many, "too many files"),
        (rare_packing, _STRANGE),
        (also("somersault.json", b'{"format": 99}'), "written by another version"),
        (hungry_config, "would not fit into memory"),
        (lambda opened, content: content.pop("config.json"), "it has no config.json"),
        (lambda opened, content: content.pop("preferences/log.jsonl"), "it has no preferences/log.jsonl"),
        (also("preferences/log.jsonl", bytes(17 << 20)), "larger than a session can be"),
        (also("preferences/00000002.safetensors"), "00000002.safetensors is damaged"),
        (also(VOTES, b"", stat.S_IFLNK), _STRANGE),
        (also(VOTES, bytes((64 << 20) + 1)), "larger than a session can be"),
        (also("voices.jsonl"), _STRANGE),
        (also(summary.PICTURE, b"/etc/passwd", stat.S_IFLNK), _STRANGE),
        (also(summary.PICTURE, bytes(summary.MAX_PICTURE + 1)), "larger than a session can be"),
    ],
)
def test_a_forged_export_is_refused_and_leaves_no_trace(
    packed: Path, tmp_path: Path, change: Callable[[zipfile.ZipFile, dict[str, bytes]], None], words: str
) -> None:
    remade(packed, change)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError) as refused:
        import_session(packed, tmp_path / "back")
    text = str(refused.value)
    assert "\n" not in text and text.endswith(".") and str(packed) in text and words in text
    assert sorted(tmp_path.rglob("*")) == before
    assert not (tmp_path.parent / "escaped").exists() and not Path("/tmp/escaped").exists()


def test_a_damaged_newest_checkpoint_is_replaced_by_the_previous_one(
    packed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    remade(packed, also("checkpoints/00000002.safetensors", b"x" * 100))
    import_session(packed, tmp_path / "back")
    assert "damaged" in caplog.text
    with closing(Session.open(tmp_path / "back")) as again:
        assert again.load()[0] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps no such bits")
def test_imported_files_have_the_usual_permissions(packed: Path, tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        import_session(packed, tmp_path / "back")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "back" / "preferences" / "log.jsonl").stat().st_mode) == 0o644


class Cancelled(Exception):
    """Raised by the callback that decides whether to continue."""


def test_a_cancelled_export_keeps_the_previous_file_and_leaves_nothing_else(
    session: Session, packed: Path, tmp_path: Path
) -> None:
    calls = list[int]()
    export_session(session, packed, lambda: calls.append(1))
    assert len(calls) > 10
    before = packed.read_bytes()
    for last in range(0, len(calls), 3):
        left = iter([None] * last)

        def check_cancelled(left: Iterator[None] = left) -> None:
            if next(left, Cancelled) is Cancelled:
                raise Cancelled

        with pytest.raises(Cancelled):
            export_session(session, packed, check_cancelled)
        assert packed.read_bytes() == before
        assert sorted(p.name for p in tmp_path.iterdir()) == ["s", "shared.somersault"]
    with closing(session.store()) as store:
        store.add(query(9), Choice.LEFT, "human")


def test_a_copy_has_the_answers_of_one_moment(session: Session) -> None:
    with closing(session.reader()) as reader, closing(session.store()) as store:
        names = []
        for name, _ in reader.snapshot():
            store.add(query(20), Choice.TIE, "human")
            names.append(name)
    assert names == ["log.jsonl", *(f"{number:08d}.safetensors" for number in range(1, 5))]


def test_a_session_with_a_damaged_answer_is_not_exported(session: Session, tmp_path: Path) -> None:
    """The file could not be imported, and the person might delete the session after the export."""
    damaged = session.folder / "preferences" / "00000002.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    with pytest.raises(UserError, match=r"00000002.safetensors is damaged .*preferences export .*undamaged answers"):
        export_session(session, tmp_path / "shared.somersault")
    assert not list(tmp_path.glob("shared*"))


def test_a_session_whose_checkpoints_are_all_damaged_is_not_exported(session: Session, tmp_path: Path) -> None:
    for path in (session.folder / "checkpoints").iterdir():
        path.write_bytes(b"x" * 100)
    with pytest.raises(UserError, match="No checkpoint in .* open the session, which is then trained again"):
        export_session(session, tmp_path / "shared.somersault")
    assert not list(tmp_path.glob("shared*"))


def test_the_last_teacher_of_an_exported_session_is_known_after_its_import(tmp_path: Path) -> None:
    for labeller, expected in (
        ("human", "human"),
        ("guest: Ada", "oracle"),
        ("oracle", "oracle"),
        ("person", "person"),
    ):
        made = Session.create(tmp_path / "source" / labeller, tiny(teacher="oracle", query__segment_steps=5))
        with closing(made.store()) as store:
            store.add(query(1), Choice.LEFT, "human" if labeller == "oracle" else "oracle")
            store.add(query(2), Choice.LEFT, labeller)
        export_session(made, tmp_path / labeller)
        made.close()
        import_session(tmp_path / labeller, tmp_path / "back" / labeller)
        found = library.entry(tmp_path / "back" / labeller).summary
        assert found and (found.teacher, found.labels) == (expected, 2)
