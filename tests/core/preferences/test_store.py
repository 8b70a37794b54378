"""The durable store of answers: no acknowledged answer is lost, damage is detected, and intact answers can be rescued."""

from __future__ import annotations

import builtins
import dataclasses
import errno
import functools
import json
import os
import shutil
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from core.preferences.store import LOG, PreferenceStore, rescue
from core.types import Choice, PoolReturns, Query
from tests.core.builders import query, segment

LEFT, RIGHT, TIE, CANT_TELL = Choice
needs_posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "preferences"


@pytest.fixture
def store(folder: Path) -> Iterator[PreferenceStore]:
    """Store with answers 1 to 3: left, right, tie."""
    with closing(PreferenceStore(folder)) as made:
        for number, choice in enumerate((LEFT, RIGHT, TIE)):
            made.add(query(number), choice, "human")
        yield made


def labels(folder: Path) -> list[tuple[int, Choice]]:
    with closing(PreferenceStore(folder, read_only=True)) as read:
        found = [(preference.id, preference.choice) for preference in read.each()]
        assert read.count() == len(found)
        return found


def again(store: PreferenceStore, key: int, swapped: bool = False) -> Query:
    """Return the pair of that answer as a repeat."""
    pair = store.answer(key).query
    left, right = (pair.right, pair.left) if swapped else (pair.left, pair.right)
    return replace(pair, left=left, right=right, repeats=key)


def fingerprint(value: Any) -> Any:
    """Return everything in an answer, arrays bit for bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if dataclasses.is_dataclass(value):
        return [fingerprint(getattr(value, field.name)) for field in dataclasses.fields(value)]
    return repr(value)


def test_answers_are_restored_bit_for_bit(folder: Path) -> None:
    odd = query(7, segment(1, 3, [0.1, -2.5, 1e-7]), segment(2, 3), disagreement=1 / 3)
    asked = [replace(odd, pool_returns=PoolReturns(-0.1, 3.7)), query(8, segment(3), segment(4), np.nan)]
    with closing(PreferenceStore(folder)) as store:
        given = [store.add(asked[0], LEFT, "oracle", (1.25, -1e-9)), store.add(asked[1], CANT_TELL, "human")]
    with closing(PreferenceStore(folder, read_only=True)) as read:
        assert [fingerprint(each) for each in read.each()] == [fingerprint(each) for each in given]


def test_undo_and_redo_work_until_a_new_answer(store: PreferenceStore, folder: Path) -> None:
    given = store.rows()
    assert [p and p.id for p in (store.undo(), store.undo(), store.undo(), store.undo())] == [3, 2, 1, None]
    store.close()
    with closing(PreferenceStore(folder)) as next_day:
        assert [p and p.id for p in (next_day.redo(), next_day.redo(), next_day.undo())] == [1, 2, 2]
        assert [p and p.id for p in (next_day.redo(), next_day.redo(), next_day.redo())] == [2, 3, None]
        assert next_day.rows() == given
        next_day.undo()
        assert next_day.add(query(9), LEFT, "human").id == 4
        assert next_day.redo() is None
        assert [p and p.id for p in (next_day.undo(), next_day.redo(), next_day.redo())] == [4, 4, None]
    assert labels(folder) == [(1, LEFT), (2, RIGHT), (4, LEFT)]


def test_a_change_keeps_the_earlier_choices(store: PreferenceStore, folder: Path) -> None:
    assert store.change(2, TIE, "human").choice == TIE
    store.change(2, CANT_TELL, "oracle")
    store.add(query(4), LEFT, "human")
    store.change(2, RIGHT, "oracle")
    with closing(PreferenceStore(folder, read_only=True)) as read:
        row, answer = read.row(2), read.answer(2)
    assert (row.choice, row.labeller) == (answer.choice, answer.labeller) == (RIGHT, "oracle")
    assert row.changes == ((RIGHT, 3), (TIE, 3), (CANT_TELL, 4))


def test_a_repeat_is_no_label_and_shares_the_segments(store: PreferenceStore, folder: Path) -> None:
    size = (folder / "00000002.safetensors").stat().st_size
    store.add(again(store, 2, swapped=True), LEFT, "human")
    first, repeat = store.answer(2).query, store.answer(4).query
    assert fingerprint(repeat.left) == fingerprint(first.right) and fingerprint(repeat.right) == fingerprint(first.left)
    assert (store.row(4).repeats, store.row(4).swapped) == (2, True)
    assert (folder / "00000004.safetensors").stat().st_size < size / 2
    assert labels(folder) == [(1, LEFT), (2, RIGHT), (3, TIE)]


def test_invalid_answers_are_refused_and_not_written(
    store: PreferenceStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(again(store, 1), LEFT, "human")
    store.add(query(6), LEFT, "human")
    store.undo()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("not the pair of answer 1", lambda: store.add(replace(query(5), repeats=1), LEFT, "human")),
        ("not the pair of answer 4", lambda: store.add(replace(again(store, 1), repeats=4), LEFT, "human")),
        ("Answer 4 was undone, or repeats another one", lambda: store.change(4, TIE, "human")),
        ("Answer 5 was undone", lambda: store.change(5, TIE, "human")),
        ("no answer 77", lambda: store.change(77, TIE, "human")),
    ]
    for words, attempt in attempts:
        with pytest.raises(UserError, match=words):
            attempt()
    with closing(PreferenceStore(folder, read_only=True)) as read, pytest.raises(UserError, match="reading only"):
        read.undo()
    monkeypatch.setattr("core.preferences.store.MAX_LOG", len(before[LOG]) + 100)
    with pytest.raises(UserError, match="as many answers as a session can"):
        store.add(query(6), LEFT, "human")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_reader_in_another_thread_sees_only_complete_answers(store: PreferenceStore, folder: Path) -> None:
    begun, done, seen = threading.Event(), threading.Event(), list[int]()

    def read() -> None:
        with closing(PreferenceStore(folder, read_only=True)) as reader:
            while not done.is_set():
                seen.append(len(list(reader.each())))
                begun.set()
                with closing(PreferenceStore(folder, read_only=True)) as fresh:
                    fresh.answer(fresh.rows()[-1].id)

    with ThreadPoolExecutor() as pool:
        reading = pool.submit(read)
        try:
            assert begun.wait(60) or reading.result()
            for number in range(40):
                store.add(query(number), LEFT, "human")
        finally:
            done.set()
        reading.result()
    assert seen and seen == sorted(seen)


@needs_posix
def test_acknowledged_answers_survive_a_power_cut(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer is read from synced data only: contents of files, and names if their folder was synced."""
    contents, disk = dict[int, bytes](), dict[str, int]()

    def sync(descriptor: int) -> None:
        node, paths = os.fstat(descriptor).st_ino, {path.name: path for path in folder.iterdir()}
        if node == folder.stat().st_ino:
            disk.clear()
            disk.update({name: path.stat().st_ino for name, path in paths.items()})
        contents.update(
            {path.stat().st_ino: path.read_bytes() for path in paths.values() if path.stat().st_ino == node}
        )

    def after_a_cut() -> list[tuple[int, Choice]]:
        shutil.rmtree(tmp_path / "after", ignore_errors=True)
        (tmp_path / "after").mkdir()
        for name, node in disk.items():
            (tmp_path / "after" / name).write_bytes(contents.get(node, b""))
        return labels(tmp_path / "after")

    monkeypatch.setattr(os, "fsync", sync)
    with closing(PreferenceStore(folder)) as store:
        for number in range(3):
            store.add(query(number), LEFT, "human")
            assert after_a_cut()[number:] == [(number + 1, LEFT)]
            store.change(number + 1, TIE, "human")
            assert after_a_cut() == [(key + 1, TIE) for key in range(number + 1)]
        store.undo()
        assert after_a_cut() == [(1, TIE), (2, TIE)]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space"), OSError(errno.EIO, "I/O"), KeyboardInterrupt()])
def test_a_failed_system_call_loses_nothing_and_can_be_repeated(
    store: PreferenceStore, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """The first, second, ... system call of an action fails, until the action succeeds."""
    for act in (lambda: store.add(query(8), RIGHT, "human"), store.undo, lambda: store.change(1, TIE, "human")):
        left, failing = 0, 0
        while left <= 0:
            before, failing = labels(folder), failing + 1
            left = failing

            def call(original: Callable[..., Any], *args: Any, **given: Any) -> Any:
                nonlocal left
                left -= 1
                if left == 0:
                    raise error
                return original(*args, **given)

            with monkeypatch.context() as patch:
                for module, name in ((os, "fsync"), (os, "open"), (os, "replace"), (os, "unlink"), (builtins, "open")):
                    patch.setattr(module, name, functools.partial(call, getattr(module, name)))
                try:
                    act()
                except UserError as failure:
                    assert "\n" not in str(failure) and "can't be" in str(failure)
                    assert labels(folder) == before
                except KeyboardInterrupt:
                    assert labels(folder) in (before, [*before, (before[-1][0] + 1, RIGHT)])
        assert failing > 2
    found = labels(folder)
    assert found[:3] == [(1, TIE), (2, RIGHT), (3, TIE)] and {choice for _, choice in found[3:]} <= {RIGHT}


def test_a_line_torn_by_a_crash_is_dropped_and_overwritten(store: PreferenceStore, folder: Path) -> None:
    store.add(query(5), LEFT, "human")
    content = (folder / LOG).read_bytes()
    (folder / "00000004.safetensors").rename(folder / "00000004.part")  # renamed last
    for size in range(content.rindex(b"\n", 0, -1) + 1, len(content), 50):
        (folder / LOG).write_bytes(content[:size])
        assert labels(folder) == [(1, LEFT), (2, RIGHT), (3, TIE)]
    with pytest.raises(UserError, match="it was truncated"):
        store.count()
    with closing(PreferenceStore(folder)) as store:
        store.undo()  # a shorter line
        assert labels(folder) == [(1, LEFT), (2, RIGHT)] and (folder / LOG).read_bytes().endswith(b"\n")
        assert store.add(query(6), TIE, "human").id == 4
    assert labels(folder) == [(1, LEFT), (2, RIGHT), (4, TIE)]
    (folder / "00000004.safetensors").rename(folder / "00000004.part")
    assert labels(folder)[-1] == (4, TIE)  # a crash before the renaming of the file
    PreferenceStore(folder).close()
    assert (folder / "00000004.safetensors").exists()  # from now on, a lost line is noticed


def line(number: int, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Return a damage that changes a line of the log and gives it a valid checksum."""

    def changed(lines: list[bytes]) -> list[bytes]:
        body = json.loads(lines[number])
        del body["crc"]
        change(body)
        text = json.dumps(body, separators=(",", ":"))[:-1].encode()
        return [*lines[:number], b'%s,"crc":"%08x"}\n' % (text, zlib.crc32(text)), *lines[number + 1 :]]

    return lines(changed)


def lines(choose: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / LOG).write_bytes(b"".join(choose((folder / LOG).read_bytes().splitlines(keepends=True))))

    return damage


def flipped(name: str, at: int) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[at] ^= 1
        (folder / name).write_bytes(content)

    return damage


def answer(**values: Any) -> Callable[[Path], None]:
    return line(1, lambda body: body["answer"].update(values))


def instead(make: Callable[[Path], object], name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).rename(folder.parent / "moved")
        make(folder / name)

    return damage


def link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "moved")


DEEP = b'{"do":' + b"[" * 4000
SECOND, THIRD = "00000002.safetensors", "00000003.safetensors"
LOST, KEPT = (2, 1), (3, 0)
DAMAGE: dict[str, tuple[Callable[[Path], object], str, tuple[int, int] | None]] = {
    # damage; words of the sentence; numbers of answers that a rescue finds, and knows to be lost
    "a flipped bit of a line": (flipped(LOG, 400), "(line 2: it is too long, or its checksum", KEPT),
    "a flipped bit of a segment": (flipped(SECOND, -40), f"{SECOND} is damaged (its checksum does not match", LOST),
    "a truncated file": (lambda folder: os.truncate(folder / SECOND, 300), f"{SECOND} is damaged", LOST),
    "a missing file": (lambda folder: (folder / SECOND).unlink(), f"{SECOND} is missing", LOST),
    "a file in another's place": (lambda folder: shutil.copy(folder / THIRD, folder / SECOND), "to another", LOST),
    "an empty log": (lines(lambda all: []), "has lost 3 answers at its end", KEPT),
    "no log": (lambda folder: (folder / LOG).unlink(), "log.jsonl is missing", KEPT),
    "a lost line in the middle": (lines(lambda all: all[:1] + all[2:]), "a line before it is missing", KEPT),
    "a line that is there twice": (lines(lambda all: all[:2] + all[1:]), "there twice", KEPT),
    "a long line": (answer(labeller="x" * 5000), "line 2: it is too long", KEPT),
    "deep JSON": (lines(lambda all: [*all, DEEP + b',"crc":"%08x"}\n' % zlib.crc32(DEEP)]), "line 4: ", KEPT),
    "a huge log": (lambda folder: os.truncate(folder / LOG, 20 << 20), "is too long", KEPT),
    "a number of no answer": (answer(id=10**30), "line 2: ", KEPT),
    "a number of too many digits": (answer(id=10**8), "line 2: ", (3, 1)),
    "an infinite time": (answer(answered_at=10**400), "line 2: ", KEPT),
    "a number that is none": (answer(disagreement=float("nan")), "line 2: nan", KEPT),
    "one segment": (answer(left=None), "line 2: ", KEPT),
    "a change at no time": (line(2, lambda body: body.update(do="change", id=1, at=None)), "line 3: None", KEPT),
    "half a letter": (answer(labeller="\ud800"), "line 2: ", KEPT),
    "three returns": (answer(returns=[1, 2, 3]), "line 2: ", KEPT),
    "another choice": (answer(choice="maybe"), "line 2: 'maybe' is not a valid Choice", KEPT),
    "a choice that the file does not have": (answer(choice="tie"), f"{SECOND} is damaged (it belongs to", KEPT),
    "a repeat of itself": (answer(repeats=2, left=None, right=None), "line 2: ", KEPT),
    "an undo of nothing": (line(2, lambda body: body.update(do="undo", id=9)), "line 3: 9", KEPT),
    "a command of nobody": (line(2, lambda body: body.update(do="import os", id=1)), "it can't 'import os'", KEPT),
    "all in ruins": (lambda folder: [path.write_bytes(b"\0" * 99) for path in folder.iterdir()], "lost 3", None),
}
if os.name != "nt":
    DAMAGE |= {
        "a link": (instead(link, SECOND), f"{SECOND} can't be read", LOST),
        "a pipe": (instead(os.mkfifo, SECOND), f"{SECOND} can't be read (not a regular file)", LOST),
        "a huge file": (lambda folder: os.truncate(folder / SECOND, 3 << 30), "impossible", LOST),
        "a pipe for a log": (instead(os.mkfifo, LOG), "log.jsonl can't be read (not a regular file)", KEPT),
        "a link for a log": (instead(link, LOG), "log.jsonl can't be read", KEPT),
    }


def rescued(folder: Path, new: Path) -> tuple[int, int]:
    """Return the number of answers found, and of those known to be lost."""
    made = rescue(folder)
    new.mkdir()
    for name, content in made.contents:
        (new / name).write_bytes(content)
    return made.answers, made.lost


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_reported_in_a_sentence_and_the_rest_is_rescued(
    store: PreferenceStore, folder: Path, tmp_path: Path, name: str
) -> None:
    store.close()
    damage, words, saved = DAMAGE[name]
    damage(folder)
    with pytest.raises(UserError) as refused, closing(PreferenceStore(folder)) as damaged:
        list(damaged.each())
    sentence = str(refused.value)
    assert words in sentence and str(folder) in sentence and "\n" not in sentence and sentence.endswith(".")
    if saved is None:
        with pytest.raises(UserError, match="no answer that can be read"):
            rescue(folder)
        return
    assert rescued(folder, tmp_path / "new") == saved
    expected = [(1, LEFT), (2, RIGHT), (3, TIE)]
    assert labels(tmp_path / "new") == (expected if saved[0] == 3 else [expected[0], expected[2]])
    with closing(PreferenceStore(tmp_path / "new")) as read:
        assert read.add(query(20), LEFT, "human").id == 4


def test_a_rescue_keeps_an_undo_if_the_line_of_its_answer_is_damaged(
    store: PreferenceStore, folder: Path, tmp_path: Path
) -> None:
    store.undo()
    store.close()
    flipped(LOG, (folder / LOG).read_bytes().rindex(b'"add"'))(folder)
    assert rescued(folder, tmp_path / "new") == (3, 0)
    assert labels(tmp_path / "new") == [(1, LEFT), (2, RIGHT)]


@pytest.mark.parametrize(("words", "lost"), [(b'"add"', 0), (b'"change"', 1), (b'"undo"', 2), (b'"redo"', 1)])
def test_a_rescue_counts_changes_that_can_not_be_read(
    store: PreferenceStore, folder: Path, words: bytes, lost: int
) -> None:
    """Without the undo, the redo is lost, too."""
    store.change(1, TIE, "human")
    store.undo()
    store.redo()
    store.close()
    assert rescue(folder).changes_lost == 0
    flipped(LOG, (folder / LOG).read_bytes().rindex(words))(folder)
    assert rescue(folder).changes_lost == lost


@pytest.mark.parametrize(
    ("kept", "expected"),
    [(None, True), (0, True), (1, True), (3, False), (5, False)],
    ids=["no file", "no line", "one line", "the answers' lines", "all lines"],
)
def test_a_rescue_tells_whether_lines_of_answers_are_gone(
    store: PreferenceStore, folder: Path, kept: int | None, expected: bool
) -> None:
    """With them, lines of changes may be gone."""
    store.change(1, TIE, "human")
    store.undo()
    store.close()
    if kept is None:
        (folder / LOG).unlink()
    else:
        (folder / LOG).write_bytes(b"".join((folder / LOG).read_bytes().splitlines(keepends=True)[:kept]))
    made = rescue(folder)
    assert made.lines_lost == expected and made.answers == 3


def test_a_rescue_keeps_undone_changed_and_repeated_answers(
    store: PreferenceStore, folder: Path, tmp_path: Path
) -> None:
    store.add(again(store, 2), RIGHT, "human")
    store.undo()
    for number in range(9, 12):
        store.add(query(number), TIE, "human")
    store.change(1, CANT_TELL, "oracle")
    store.add(again(store, 6), RIGHT, "human")
    store.undo()
    before = store.rows()
    store.close()
    lines(lambda all: [line for line in all if b'"id":5,' not in line])(folder)
    for lost in (THIRD, "00000006.safetensors"):
        (folder / lost).unlink()
    assert rescued(folder, tmp_path / "new") == (5, 3)  # the last one repeats answer 6
    with closing(PreferenceStore(tmp_path / "new", read_only=True)) as read:
        assert read.rows() == [row for row in before if row.id in (1, 2, 4, 5, 7)]


@needs_posix
def test_writing_does_not_follow_links(store: PreferenceStore, folder: Path, tmp_path: Path) -> None:
    """A folder from a stranger may contain links to the person's own files."""
    own = tmp_path / "own"
    own.write_text("mine")
    (folder / "00000004.part").symlink_to(own)
    (folder / "00000005.part").hardlink_to(own)
    store.add(query(4), LEFT, "human")
    store.add(query(5), LEFT, "human")
    assert own.read_text() == "mine"


def test_listing_or_counting_answers_reads_no_segment(store: PreferenceStore, folder: Path) -> None:
    for path in folder.glob("*.safetensors"):
        path.write_bytes(b"")
    with closing(PreferenceStore(folder, read_only=True)) as read:
        assert read.count() == 3 and [shape.steps for row in read.rows() for shape in row.shapes] == [5] * 6
